import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CopyIcon } from '@/ui/CopyButton';
import classes from './FolderLink.module.css';
import { rootsQuery } from './queries';
import { searchForFolder } from './search';

/** A path on the cluster, which can be copied, with a link to it if it is below a root of Files. */
export function FolderLink({ folder }: { folder: string }) {
  const { data } = useQuery(rootsQuery);
  const search = searchForFolder(data?.items ?? [], folder);
  const path = <code>{folder}</code>;
  return (
    <span className={classes.folder}>
      {search === null ? (
        path
      ) : (
        <Link to="/files" search={search} preload={false}>
          {path}
        </Link>
      )}
      <CopyIcon text={folder} label={t`Copy the path ${folder}`} />
    </span>
  );
}
