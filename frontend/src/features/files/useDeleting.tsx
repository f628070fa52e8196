import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ApiError } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { offerUndo } from '@/ui/offerUndo';
import { showError } from '@/ui/showError';
import { useReauthAction } from '@/ui/useReauthAction';
import { remove, restore } from './actions';
import type { FileDialog } from './FileDialogs';
import { fileNameOf } from './paths';

const NO_TRASH = 'urn:portal:no-trash';

/** Delete entries and offer to undo it; ask first in a root without a trash. */
export function useDeleting(
  root: string,
  openDialog: (dialog: FileDialog) => void,
  done: () => void,
) {
  const { change } = useReauthAction();
  return (paths: readonly string[]): void => {
    if (paths.length === 0) return;
    change(async () => {
      const { ids, done: gone, failed } = await remove(root, paths);
      done();
      if (gone.length > 0) offerRestore(root, gone, ids);
      const trashless = failed.filter(({ error }) => error.type === NO_TRASH);
      const [other] = failed.filter(({ error }) => error.type !== NO_TRASH);
      if (other)
        showError(
          new ApiError(
            409,
            'not-deleted',
            t`${{ name: escapeInvisible(other.path) }}: ${{ reason: translate(other.error.detail) }}`,
          ),
        );
      if (trashless.length > 0)
        openDialog({ kind: 'forever', paths: trashless.map(({ path }) => path) });
    });
  };
}

function offerRestore(root: string, paths: readonly string[], ids: readonly string[]): void {
  const [first = ''] = paths;
  const name = escapeInvisible(fileNameOf(first));
  const count = paths.length;
  offerUndo(
    count === 1 ? (
      <Trans>“{name}” is in the trash.</Trans>
    ) : (
      <Trans>{count} items are in the trash.</Trans>
    ),
    () => restore(root, ids),
  );
}
