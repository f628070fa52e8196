import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NativeSelect, Skeleton, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import { translate, translateExact } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { ConfirmForm } from '@/ui/ConfirmDialog';
import { Notice } from '@/ui/Notice';
import { TryAgain } from '@/ui/TryAgain';
import { move } from './actions';
import { FileIcon } from './FileIcon';
import classes from './Files.module.css';
import { folderOf, isWithin, join } from './paths';
import { subfoldersQuery } from './queries';
import { type Entry, type FileLocation, isFolder, type Roots } from './types';

interface Props {
  from: FileLocation;
  roots: Roots;
  entries: readonly Entry[];
  close: () => void;
  done: () => void;
}

/** A form that selects a folder and moves the selected items there. */
export function MoveForm({ from, roots, entries, close, done }: Props) {
  const [to, setTo] = useState<FileLocation>(from);
  const [remaining, setRemaining] = useState(entries);
  const same = to.root === from.root && to.path === from.path;
  const into = remaining.find(
    (entry) => entry.kind === 'folder' && to.root === from.root && isWithin(to.path, entry.path),
  );
  const count = remaining.length;
  const name = escapeInvisible(remaining[0]?.name ?? '');
  const place = to.path === '' ? title(roots, to.root) : escapeInvisible(to.path);
  const moveAll = async (): Promise<void> => {
    let rest = remaining;
    for (const entry of remaining) {
      await move(
        { root: from.root, path: entry.path },
        { root: to.root, path: join(to.path, entry.name) },
      ).catch((error: unknown) => {
        throw named(entry, error);
      });
      rest = rest.filter((other) => other !== entry);
      setRemaining(rest);
    }
    done();
  };
  return (
    <ConfirmForm
      onClose={close}
      button={t`Move here`}
      disabled={same || into !== undefined}
      act={moveAll}
    >
      {roots.items.length > 1 && (
        <NativeSelect
          label={t`Destination`}
          value={to.root}
          onChange={(event) => setTo({ root: event.currentTarget.value, path: '' })}
          data={roots.items.map(({ name, title }) => ({
            value: name,
            label: translateExact(title),
          }))}
        />
      )}
      <Text size="sm">
        {count === 1 ? (
          <Trans>
            Move “{name}” to <b>{place}</b>
          </Trans>
        ) : (
          <Trans>
            Move {count} items to <b>{place}</b>
          </Trans>
        )}
      </Text>
      <Folders folder={to} go={(path) => setTo({ root: to.root, path })} />
      {into && (
        <Notice tone="warning">
          <Trans>A folder can't be moved into itself.</Trans>
        </Notice>
      )}
    </ConfirmForm>
  );
}

const title = (roots: Roots, root: string): string =>
  translate(roots.items.find(({ name }) => name === root)?.title ?? root);

/** Add the item's name to the error if there are several. */
const named = (entry: Entry, error: unknown): unknown =>
  error instanceof ApiError
    ? new ApiError(
        error.status,
        error.slug,
        t`${{ name: escapeInvisible(entry.name) }}: ${{ reason: translate(error.message) }}`,
      )
    : error;

function Folders({ folder, go }: { folder: FileLocation; go: (path: string) => void }) {
  const { data, error, isPending, refetch } = useQuery(subfoldersQuery(folder));
  const folders = data?.items.filter(isFolder) ?? [];
  return (
    <>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      <ul className={classes.pick} aria-label={t`Folders`}>
        {folder.path !== '' && (
          <li>
            <UnstyledButton onClick={() => go(folderOf(folder.path))}>
              <Trans>↑ One folder up</Trans>
            </UnstyledButton>
          </li>
        )}
        {folders.map((entry) => (
          <li key={entry.path}>
            <UnstyledButton onClick={() => go(entry.path)}>
              <FileIcon entry={entry} />
              {escapeInvisible(entry.name)}
            </UnstyledButton>
          </li>
        ))}
        {isPending && <Skeleton height={120} aria-label={t`Loading`} />}
        {data && folders.length === 0 && (
          <li className={classes.quiet}>
            <Trans>There are no subfolders, but you can move items here.</Trans>
          </li>
        )}
      </ul>
    </>
  );
}
