import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { errorMessage } from '@/api/problem';
import { translate, translateExact } from '@/i18n/translate';
import { useMe } from '@/lib/useMe';
import choice from '@/ui/ChoiceLinks.module.css';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Files.module.css';
import { FolderView } from './FolderView';
import { rootsQuery } from './queries';
import { SpaceLeft } from './SpaceLeft';
import { EXACT, goTo } from './search';
import { roomOf } from './sizes';
import { TrashView } from './TrashView';
import type { Root, Roots } from './types';
import { UnfinishedUploads } from './UnfinishedUploads';
import { UploadList } from './UploadList';
import { uploads } from './uploader';

/** The user's files, in the roots that the site configures. */
export function FilesPage() {
  const { username } = useMe();
  const query = useQuery(rootsQuery);
  useEffect(() => uploads.setOwner(username), [username]);
  return (
    <>
      <div className={classes.head}>
        <PageTitle tab={t`Files`}>
          <Trans>Files</Trans>
        </PageTitle>
      </div>
      {query.isPending && <ListSkeleton />}
      {query.error && !query.data && (
        <TryAgain error={errorMessage(query.error)} onRetry={() => void query.refetch()} />
      )}
      {query.data && <Inside roots={query.data} />}
    </>
  );
}

function Inside({ roots }: { roots: Roots }) {
  const search = useSearch({ from: '/signed-in/files' });
  const wanted = search.root;
  const root = wanted ? roots.items.find(({ name }) => name === wanted) : roots.items[0];
  return (
    <>
      <div className={classes.head}>
        <Places roots={roots} root={root} />
        {root && <SpaceLeft title={root.title} space={root} />}
      </div>
      <UploadList />
      {!search.trash && search.show === undefined && <UnfinishedUploads roots={roots} />}
      {root ? (
        <Contents root={root} roots={roots} />
      ) : (
        <Paper className={classes.empty}>
          <Trans>There is no location “{wanted}”. Choose one from the list above.</Trans>
        </Paper>
      )}
    </>
  );
}

function Contents({ root, roots }: { root: Root; roots: Roots }) {
  const search = useSearch({ from: '/signed-in/files' });
  return (
    <div className={classes.stack}>
      {root.problem && <Notice tone="warning">{translate(root.problem)}</Notice>}
      {roomOf(root)?.level === 'full' && (
        <Notice tone="warning">
          <Trans>This storage is full. Delete something, then empty the trash.</Trans>
        </Notice>
      )}
      {search.trash ? (
        <TrashView root={root} days={roots.trash_days} />
      ) : (
        <FolderView root={root} roots={roots} key={`${root.name}/${search.path ?? ''}`} />
      )}
    </div>
  );
}

function Places({ roots, root }: { roots: Roots; root: Root | undefined }) {
  const search = useSearch({ from: '/signed-in/files' });
  // the router marks only the exact address; a root stays marked in the folders below it
  const here = (name: string, trash: boolean) => {
    const is = root?.name === name && (search.trash ?? false) === trash;
    const current = search.path === undefined ? 'page' : 'true';
    return { 'data-here': is, 'aria-current': is ? current : undefined } as const;
  };
  return (
    <nav aria-label={t`Places`}>
      <ul className={choice.links}>
        {roots.items.map(({ name, title }) => (
          <li key={name}>
            <Link
              to="/files"
              search={goTo(search, name, '')}
              className={choice.link}
              activeOptions={EXACT}
              {...here(name, false)}
              preload={false}
            >
              {translateExact(title)}
            </Link>
          </li>
        ))}
        {root && (
          <li>
            <Link
              to="/files"
              search={{ ...goTo(search, root.name, ''), trash: true }}
              className={choice.link}
              activeOptions={EXACT}
              {...here(root.name, true)}
              preload={false}
            >
              <Trans>Trash</Trans>
            </Link>
          </li>
        )}
      </ul>
    </nav>
  );
}
