import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { rootsQuery } from './queries';
import { searchForFolder } from './search';

/** A path on the cluster, with a link to it if it is below a root of Files. */
export function FolderLink({ folder }: { folder: string }) {
  const { data } = useQuery(rootsQuery);
  const search = searchForFolder(data?.items ?? [], folder);
  const path = <code>{folder}</code>;
  return search === null ? (
    path
  ) : (
    <Link to="/files" search={search} preload={false}>
      {path}
    </Link>
  );
}
