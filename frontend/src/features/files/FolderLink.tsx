import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { rootsQuery } from './queries';
import { searchForFolder } from './search';

/** A folder of the cluster; a link to it in Files where Files shows it. */
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
