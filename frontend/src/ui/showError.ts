import { t } from '@lingui/core/macro';
import { notifications } from '@mantine/notifications';
import { sentence } from '@/api/problem';

/** Thrown when someone closes a dialog instead of answering it; not an error to show. */
export class Cancelled extends Error {}

/** Says in one sentence that an act failed, where no field or card is the better place. */
export function showError(error: unknown): void {
  if (error instanceof Cancelled) return;
  notifications.show({
    color: 'red',
    title: t`The action failed`,
    message: sentence(error),
    autoClose: 10_000,
    role: 'alert',
  });
}
