import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiError, errorMessage } from '@/api/problem';
import { TryAgain } from '@/ui/TryAgain';
import { Contents } from './Contents';
import classes from './Preview.module.css';
import { entryQuery, previewQuery, rootsQuery } from './queries';
import { searchForFile } from './search';
import { type FileLocation, isFile } from './types';

/** The content of a file at a path on the cluster, with a link to it in Files. Files outside the roots
 * of Files, and folders, are not shown. */
export function FilePreview({ path }: { path: string }) {
  const { data: roots } = useQuery(rootsQuery);
  if (roots === undefined) return null;
  const search = searchForFile(roots.items, path);
  if (search === null) return <code>{path}</code>;
  const { root, path: folder, show } = search;
  return (
    <>
      <Link to="/files" search={search} preload={false}>
        <code>{path}</code>
      </Link>
      <Inside location={{ root, path: folder === undefined ? show : `${folder}/${show}` }} />
    </>
  );
}

function Inside({ location }: { location: FileLocation }) {
  const found = useQuery(entryQuery(location));
  const entry = found.data;
  const shown = entry !== undefined && isFile(entry) && entry.readable;
  const preview = useQuery({ ...previewQuery(location, entry?.version ?? ''), enabled: shown });
  const error = found.error ?? preview.error;
  if (error instanceof ApiError && error.status === 404)
    return (
      <p className={classes.quiet}>
        <Trans>This file doesn't exist.</Trans>
      </p>
    );
  if (error)
    return (
      <TryAgain
        error={errorMessage(error)}
        onRetry={() => void (found.error ? found.refetch() : preview.refetch())}
      />
    );
  return preview.data === undefined ? null : (
    <Contents location={location} preview={preview.data} />
  );
}
