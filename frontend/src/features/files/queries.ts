/** Queries of the files pages. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';
import type { Sort } from './search';
import type { FileLocation } from './types';

export const FILES_KEY = ['files'] as const;
export const ROOTS_KEY = [...FILES_KEY, 'roots'] as const;
export const SPACE_KEY = [...FILES_KEY, 'space'] as const;
export const UPLOADS_KEY = [...FILES_KEY, 'uploads'] as const;
export const folderKey = ({ root, path }: FileLocation) =>
  [...FILES_KEY, 'folder', root, path] as const;
export const entryKey = ({ root, path }: FileLocation) =>
  [...FILES_KEY, 'entry', root, path] as const;
export const trashKey = (root: string) => [...FILES_KEY, 'trash', root] as const;

const PAGE = 500;

/** Retry once if the portal could not be reached (status 0). Not after an error of the portal, such
 * as a timeout: it has already waited for a file system that hangs. */
const onceMore = (failures: number, error: Error): boolean =>
  failures < 1 && error instanceof ApiError && error.status === 0;

export const rootsQuery = queryOptions({
  queryKey: ROOTS_KEY,
  queryFn: () => unwrap(api.GET('/api/v1/files/roots')),
  retry: onceMore,
});

/** A query for the storage of each root, for pages that show no files. */
export const spaceQuery = queryOptions({
  queryKey: SPACE_KEY,
  queryFn: () => unwrap(api.GET('/api/v1/files/space')),
  retry: onceMore,
});

export interface FolderOptions {
  sort: Sort;
  descending: boolean;
  hidden: boolean;
  q: string;
}

export const folderQuery = ({ root, path }: FileLocation, options: FolderOptions) =>
  infiniteQueryOptions({
    queryKey: [...folderKey({ root, path }), options],
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET('/api/v1/files', {
          params: { query: { root, path, ...options, limit: PAGE, cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    retry: onceMore,
    staleTime: 5_000,
    // a long list isn't refetched page by page each time the window regains the focus
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) <= 2,
  });

/** A query for the first folders inside a folder, to select a target. */
export const subfoldersQuery = ({ root, path }: FileLocation) =>
  queryOptions({
    queryKey: [...folderKey({ root, path }), 'folders'],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/files', { params: { query: { root, path, limit: PAGE } }, signal })),
    retry: onceMore,
    staleTime: 0,
  });

export const previewQuery = ({ root, path }: FileLocation, version: string) =>
  queryOptions({
    queryKey: [...FILES_KEY, 'preview', root, path, version],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/files/preview', { params: { query: { root, path } }, signal })),
    retry: onceMore,
  });

export const entryQuery = ({ root, path }: FileLocation) =>
  queryOptions({
    queryKey: entryKey({ root, path }),
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/files/entry', { params: { query: { root, path } }, signal })),
    retry: onceMore,
    staleTime: 0,
  });

export const trashQuery = (root: string) =>
  queryOptions({
    queryKey: trashKey(root),
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/files/trash', { params: { query: { root } }, signal })),
    retry: onceMore,
    staleTime: 0,
  });

/** A query for unfinished uploads, of every tab and browser. */
export const uploadsQuery = queryOptions({
  queryKey: UPLOADS_KEY,
  queryFn: () => unwrap(api.GET('/api/v1/files/uploads')),
  retry: onceMore,
  staleTime: 0,
});

/** Return an address that the browser loads by itself. */
export const imageAddress = ({ root, path }: FileLocation, version: string): string =>
  `/api/v1/files/image?${new URLSearchParams({ root, path, v: version })}`;

export const downloadAddress = ({ root, path }: FileLocation): string =>
  `/api/v1/files/download?${new URLSearchParams({ root, path })}`;

/** Return the address of a zip of some entries of a folder, or of all if `names` is empty. */
export function archiveAddress(
  { root, path }: FileLocation,
  names: readonly string[] = [],
): string {
  const query = new URLSearchParams({ root, path, format: 'zip' });
  for (const name of names) query.append('name', name);
  return `/api/v1/files/archive?${query}`;
}
