import { t } from '@lingui/core/macro';
import { notifications } from '@mantine/notifications';
import { errorMessage } from '@/api/problem';

/** Thrown when the user closes a dialog; not an error to show. */
export class Cancelled extends Error {}

/** Show a notification that an action failed, for errors without a field or card of their own. */
export function showError(error: unknown): void {
  if (error instanceof Cancelled) return;
  notifications.show({
    color: 'red',
    title: t`The action failed`,
    message: errorMessage(error),
    autoClose: 10_000,
    role: 'alert',
  });
}
