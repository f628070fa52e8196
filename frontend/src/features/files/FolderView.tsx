import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Paper } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { errorMessage } from '@/api/problem';
import { translateExact } from '@/i18n/translate';
import { countText } from '@/lib/countText';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import { SearchField } from '@/ui/SearchField';
import { TryAgain } from '@/ui/TryAgain';
import { Crumbs } from './Crumbs';
import { type FileDialog, FileDialogs } from './FileDialogs';
import classes from './Files.module.css';
import { FolderGrid } from './FolderGrid';
import { PreviewPane } from './PreviewPane';
import { fileNameOf, folderOf, join } from './paths';
import { folderQuery } from './queries';
import { type FilesSearch, goTo, withPreview } from './search';
import { deselectAll, NOTHING, type Selection } from './selection';
import { Toolbar } from './Toolbar';
import { type Entry, isFolder, type Root, type Roots } from './types';
import { useDeleting } from './useDeleting';
import { useDropUpload } from './useDropUpload';

/** A folder: its entries and the preview. Each folder has its own instance. */
export function FolderView({ root, roots }: { root: Root; roots: Roots }) {
  const search = useSearch({ from: '/signed-in/files' });
  const path = search.path ?? '';
  const open = search.show !== undefined;
  return (
    <div>
      <Crumbs root={root} path={path} />
      <div className={classes.split} data-open={open}>
        <div className={classes.left}>
          <Listing root={root} roots={roots} path={path} search={search} />
        </div>
        {search.show !== undefined && (
          <PreviewPane
            key={search.show}
            root={root}
            location={{ root: root.name, path: join(path, search.show) }}
            maxTextBytes={roots.max_text_bytes}
          />
        )}
      </div>
    </div>
  );
}

interface Props {
  root: Root;
  roots: Roots;
  path: string;
  search: FilesSearch;
}

function useFolder({ root, path, search }: Props) {
  const query = useInfiniteQuery({
    ...folderQuery(
      { root: root.name, path },
      {
        sort: search.sort ?? 'name',
        descending: search.desc ?? false,
        hidden: search.hidden ?? false,
        q: search.q ?? '',
      },
    ),
    placeholderData: (before) => before,
  });
  const entries = useMemo(
    () => query.data?.pages.flatMap(({ items }) => items) ?? [],
    [query.data],
  );
  const { hasNextPage, isFetching, fetchNextPage, error } = query;
  const more = useCallback(() => {
    if (hasNextPage && !isFetching && !error) void fetchNextPage();
  }, [hasNextPage, isFetching, error, fetchNextPage]);
  return { query, entries, more };
}

function Listing(props: Props) {
  const { root, path, search } = props;
  const navigate = useNavigate();
  const { query, entries, more } = useFolder(props);
  const [selection, select] = useState<Selection>(NOTHING);
  const [dialog, setDialog] = useState<FileDialog | null>(null);
  const chosen = useMemo(
    () => entries.filter((entry) => selection.paths.has(entry.path)),
    [entries, selection.paths],
  );
  const first = query.data?.pages[0];
  const writable = first?.writable ?? false;
  const remove = useDeleting(root.name, setDialog, () => select(deselectAll));
  const drop = useDropUpload(root.name, path, writable);
  const go = (to: FilesSearch): void => void navigate({ to: '/files', search: to });
  const active = entries[selection.active];
  const targets = chosen.length > 0 || !active ? chosen : [active];
  return (
    <>
      <Filter search={search} />
      <Toolbar
        root={root}
        path={path}
        writable={writable}
        filled={entries.length > 0}
        chosen={chosen}
        openDialog={setDialog}
        remove={() => remove(chosen.map((entry) => entry.path))}
      />
      <div className={classes.stack}>
        <State {...props} query={query} count={entries.length} />
        {first?.real && <RealPlace real={first.real} search={search} />}
        {entries.length > 0 && (
          <div {...drop}>
            <FolderGrid
              root={root.name}
              search={search}
              entries={entries}
              total={first?.total ?? entries.length}
              label={path === '' ? translateExact(root.title) : escapeInvisible(fileNameOf(path))}
              selection={selection}
              select={select}
              more={more}
              acts={{
                open: (entry: Entry) =>
                  go(
                    isFolder(entry)
                      ? goTo(search, root.name, entry.path)
                      : withPreview(search, entry.name),
                  ),
                up: () => path !== '' && go(goTo(search, root.name, folderOf(path))),
                rename: (entry) => setDialog({ kind: 'rename', entry }),
                remove: () => remove(targets.map((entry) => entry.path)),
              }}
            />
          </div>
        )}
        {first && entries.length === 0 && (
          <div {...drop}>
            <Empty search={search} writable={writable} />
          </div>
        )}
      </div>
      <Foot query={query} count={entries.length} chosen={chosen.length} />
      <FileDialogs
        dialog={dialog}
        close={() => setDialog(null)}
        root={root}
        roots={props.roots}
        path={path}
        done={() => select(deselectAll)}
      />
    </>
  );
}

type FolderQuery = ReturnType<typeof useFolder>['query'];

function State({ query, count }: Props & { query: FolderQuery; count: number }) {
  if (query.isPending) return <ListSkeleton />;
  return (
    <>
      {query.error && (
        <TryAgain error={errorMessage(query.error)} onRetry={() => void query.refetch()} />
      )}
      {query.data?.pages[0]?.complete === false && count > 0 && (
        <Notice tone="warning">
          <Trans>This folder is too large to list completely. Search for a name.</Trans>
        </Notice>
      )}
    </>
  );
}

function Filter({ search }: { search: FilesSearch }) {
  const navigate = useNavigate();
  const { q, hidden, ...rest } = search;
  const hiddenOption = hidden ? { hidden } : {};
  return (
    <search className={classes.bar}>
      <SearchField
        className={classes.find}
        label={t`Find by name in this folder`}
        value={q ?? ''}
        onSearch={(text) =>
          void navigate({
            to: '/files',
            search: { ...rest, ...hiddenOption, ...(text === '' ? {} : { q: text }) },
            replace: true,
          })
        }
      />
      <Checkbox
        label={t`Hidden files`}
        checked={hidden ?? false}
        onChange={(event) =>
          void navigate({
            to: '/files',
            search: {
              ...rest,
              ...(q ? { q } : {}),
              ...(event.currentTarget.checked ? { hidden: true } : {}),
            },
            replace: true,
          })
        }
      />
    </search>
  );
}

function RealPlace({
  real,
  search,
}: {
  real: { root: string; path: string };
  search: FilesSearch;
}) {
  return (
    <Notice tone="info">
      <Trans>
        You opened this folder through a symbolic link. To change something,{' '}
        <Link to="/files" search={goTo(search, real.root, real.path)} preload={false}>
          go to the folder itself
        </Link>
        .
      </Trans>
    </Notice>
  );
}

function Empty({ search, writable }: { search: FilesSearch; writable: boolean }) {
  const { q, ...rest } = search;
  const navigate = useNavigate();
  return (
    <Paper className={classes.empty}>
      <span>
        {q
          ? t`No name in this folder contains “${q}”.`
          : writable
            ? t`This folder is empty. Drop files here, or use the buttons above.`
            : t`Nothing is here.`}
      </span>
      {q && (
        <Button
          variant="default"
          onClick={() => void navigate({ to: '/files', search: rest, replace: true })}
        >
          <Trans>Show everything</Trans>
        </Button>
      )}
    </Paper>
  );
}

function Foot({ query, count, chosen }: { query: FolderQuery; count: number; chosen: number }) {
  const total = query.data?.pages[0]?.total ?? 0;
  const entries = plural(total, { one: '# entry', other: '# entries' });
  const shown = countText(count);
  const listed = count < total ? t`${shown} of ${entries}` : entries;
  const selected = countText(chosen);
  return (
    <div className={classes.foot}>
      <span className={classes.quiet} role="status">
        {count > 0 && (chosen > 0 ? t`${listed}, ${selected} selected` : listed)}
      </span>
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          <Trans>Show more</Trans>
        </Button>
      )}
    </div>
  );
}
