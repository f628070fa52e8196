import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ApiError } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { showError } from '@/ui/showError';
import { makeFolder, move, remove } from './actions';
import { MoveForm } from './MoveForm';
import { fileNameOf, folderOf, join, nameProblem, stemLength } from './paths';
import type { Entry, Root, Roots } from './types';

/** The open dialog and its subject. */
export type FileDialog =
  | { kind: 'folder' }
  | { kind: 'rename'; entry: Entry }
  | { kind: 'move'; entries: readonly Entry[] }
  | { kind: 'forever'; paths: readonly string[] };

interface Props {
  dialog: FileDialog | null;
  close: () => void;
  root: Root;
  roots: Roots;
  path: string;
  /** called after an action on the selection */
  done: () => void;
}

const TITLES = {
  folder: t`New folder`,
  rename: t`Rename`,
  move: t`Move to`,
  forever: t`Delete for good?`,
};

export function FileDialogs(props: Props) {
  const { dialog, close } = props;
  return (
    <DialogShell title={dialog ? TITLES[dialog.kind] : ''} opened={dialog !== null} onClose={close}>
      {dialog && <Inside {...props} dialog={dialog} />}
    </DialogShell>
  );
}

function Inside({ dialog, close, root, roots, path, done }: Props & { dialog: FileDialog }) {
  if (dialog.kind === 'folder') return <NewFolder root={root.name} path={path} close={close} />;
  if (dialog.kind === 'rename')
    return <Rename root={root.name} entry={dialog.entry} close={close} done={done} />;
  if (dialog.kind === 'move')
    return (
      <MoveForm
        from={{ root: root.name, path }}
        roots={roots}
        entries={dialog.entries}
        close={close}
        done={done}
      />
    );
  return <PermanentDeletion root={root.name} paths={dialog.paths} close={close} done={done} />;
}

function NewFolder({ root, path, close }: { root: string; path: string; close: () => void }) {
  const [name, setName] = useState('');
  const problem = nameProblem(name);
  return (
    <ConfirmForm
      onClose={close}
      button={t`Create`}
      disabled={problem !== null}
      act={() => makeFolder({ root, path: join(path, name) })}
    >
      <TextInput
        label={t`Name`}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={name === '' ? undefined : problem}
        data-autofocus
        autoComplete="off"
      />
    </ConfirmForm>
  );
}

interface RenameProps {
  root: string;
  entry: Entry;
  close: () => void;
  done: () => void;
}

function Rename({ root, entry, close, done }: RenameProps) {
  const [name, setName] = useState(entry.name);
  const shown = escapeInvisible(entry.name);
  const problem = nameProblem(name);
  const rename = async (): Promise<void> => {
    if (name !== entry.name)
      await move({ root, path: entry.path }, { root, path: join(folderOf(entry.path), name) });
    done();
  };
  return (
    <ConfirmForm onClose={close} button={t`Rename`} disabled={problem !== null} act={rename}>
      <TextInput
        label={t`New name`}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        onFocus={({ currentTarget }) => currentTarget.setSelectionRange(0, stemLength(name))}
        error={problem}
        data-autofocus
        autoComplete="off"
      />
      {!entry.name_is_text && (
        <Text size="sm" c="dimmed">
          <Trans>Some bytes of this name are not text (“{shown}”). Enter a new name.</Trans>
        </Text>
      )}
    </ConfirmForm>
  );
}

interface ForeverProps {
  root: string;
  paths: readonly string[];
  close: () => void;
  done: () => void;
}

/** The dialog of permanent deletion, for roots without a trash. */
function PermanentDeletion({ root, paths, close, done }: ForeverProps) {
  const [first = ''] = paths;
  const name = escapeInvisible(fileNameOf(first));
  const count = paths.length;
  const deleteAll = async (): Promise<void> => {
    const { failed } = await remove(root, paths, true);
    done();
    const [problem] = failed;
    if (problem)
      showError(
        new ApiError(
          409,
          'not-deleted',
          t`${{ name: escapeInvisible(fileNameOf(problem.path)) }}: ${{ reason: translate(problem.error.detail) }}`,
        ),
      );
  };
  return (
    <ConfirmForm onClose={close} button={t`Delete for good`} danger keep={t`Keep`} act={deleteAll}>
      <Text size="sm">
        {count === 1 ? (
          <Trans>
            There is no trash for this folder, so “{name}” can't be restored once deleted.
          </Trans>
        ) : (
          <Trans>
            There is no trash for this folder, so {count} items can't be restored once deleted.
          </Trans>
        )}
      </Text>
    </ConfirmForm>
  );
}
