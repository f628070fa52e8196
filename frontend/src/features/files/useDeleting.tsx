import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { ApiError } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { showError } from '@/ui/showError';
import { useChange } from '@/ui/useChange';
import { remove, restore } from './actions';
import type { Asked } from './FileDialogs';
import { nameOf, readable } from './paths';

const UNDO_MS = 15_000;
const NO_TRASH = 'urn:portal:no-trash';

/** Deletes, with a way back in a message; where there is no trash it asks first. */
export function useDeleting(root: string, ask: (asked: Asked) => void, done: () => void) {
  const { change } = useChange();
  return (paths: readonly string[]): void => {
    if (paths.length === 0) return;
    change(async () => {
      const { ids, done: gone, failed } = await remove(root, paths);
      done();
      if (gone.length > 0) offerUndo(root, gone, ids);
      const trashless = failed.filter(({ error }) => error.type === NO_TRASH);
      const [other] = failed.filter(({ error }) => error.type !== NO_TRASH);
      if (other)
        showError(
          new ApiError(
            409,
            'not-deleted',
            t`${{ name: readable(other.path) }}: ${{ reason: translate(other.error.detail) }}`,
          ),
        );
      if (trashless.length > 0) ask({ what: 'forever', paths: trashless.map(({ path }) => path) });
    });
  };
}

function offerUndo(root: string, paths: readonly string[], ids: readonly string[]): void {
  const [first = ''] = paths;
  const name = readable(nameOf(first));
  const count = paths.length;
  const id = notifications.show({
    autoClose: UNDO_MS,
    role: 'status',
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span>
          {count === 1 ? (
            <Trans>“{name}” is in the trash.</Trans>
          ) : (
            <Trans>{count} items are in the trash.</Trans>
          )}
        </span>
        <Button
          variant="light"
          size="compact-sm"
          onClick={() => {
            notifications.hide(id);
            void restore(root, ids).catch(showError);
          }}
        >
          <Trans>Undo</Trans>
        </Button>
      </Group>
    ),
  });
}
