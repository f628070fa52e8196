import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ApiError } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { showError } from '@/ui/showError';
import { makeFolder, move, remove } from './actions';
import { MoveForm } from './MoveForm';
import { folderOf, join, nameOf, nameProblem, readable, stemLength } from './paths';
import type { Entry, Root, Roots } from './types';

/** What a dialog is open for. */
export type Asked =
  | { what: 'folder' }
  | { what: 'rename'; entry: Entry }
  | { what: 'move'; entries: readonly Entry[] }
  | { what: 'forever'; paths: readonly string[] };

interface Props {
  asked: Asked | null;
  close: () => void;
  root: Root;
  roots: Roots;
  path: string;
  /** something was done with what was selected */
  done: () => void;
}

const TITLES = {
  folder: t`New folder`,
  rename: t`Rename`,
  move: t`Move to`,
  forever: t`Delete for good?`,
};

export function FileDialogs(props: Props) {
  const { asked, close } = props;
  return (
    <DialogShell title={asked ? TITLES[asked.what] : ''} opened={asked !== null} onClose={close}>
      {asked && <Inside {...props} asked={asked} />}
    </DialogShell>
  );
}

function Inside({ asked, close, root, roots, path, done }: Props & { asked: Asked }) {
  if (asked.what === 'folder') return <NewFolder root={root.name} path={path} close={close} />;
  if (asked.what === 'rename')
    return <Rename root={root.name} entry={asked.entry} close={close} done={done} />;
  if (asked.what === 'move')
    return (
      <MoveForm
        from={{ root: root.name, path }}
        roots={roots}
        entries={asked.entries}
        close={close}
        done={done}
      />
    );
  return <Forever root={root.name} paths={asked.paths} close={close} done={done} />;
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
  const shown = readable(entry.name);
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

/** Where there is no trash. */
function Forever({ root, paths, close, done }: ForeverProps) {
  const [first = ''] = paths;
  const name = readable(nameOf(first));
  const count = paths.length;
  const act = async (): Promise<void> => {
    const { failed } = await remove(root, paths, true);
    done();
    const [problem] = failed;
    if (problem)
      showError(
        new ApiError(
          409,
          'not-deleted',
          t`${{ name: readable(nameOf(problem.path)) }}: ${{ reason: translate(problem.error.detail) }}`,
        ),
      );
  };
  return (
    <ConfirmForm onClose={close} button={t`Delete for good`} danger keep={t`Keep`} act={act}>
      <Text size="sm">
        {count === 1 ? (
          <Trans>
            There is no trash for this folder, so “{name}” can’t be restored once deleted.
          </Trans>
        ) : (
          <Trans>
            There is no trash for this folder, so {count} items can’t be restored once deleted.
          </Trans>
        )}
      </Text>
    </ConfirmForm>
  );
}
