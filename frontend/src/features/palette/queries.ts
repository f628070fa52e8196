import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

const MAX_FOUND = 10;
const FILES_STALE_MS = 30_000;

/** A query for the newest jobs that match, among all of the user's: the event stream has only the
 * newest of all. */
export const jobSearchQuery = (q: string) =>
  queryOptions({
    queryKey: ['palette', 'jobs', q],
    queryFn: async () =>
      (await unwrap(api.GET('/api/v1/jobs', { params: { query: { q, limit: MAX_FOUND } } }))).items,
  });

/** The folder to search, and a part of a name. Without a root, the first one is searched. */
export interface FileSearch {
  root?: string;
  path?: string;
  q: string;
}

/** A query for files by name. The portal limits its time; it isn't repeated after a failure. */
export const fileSearchQuery = (search: FileSearch) =>
  queryOptions({
    queryKey: ['palette', 'files', search],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/files/search', { params: { query: search }, signal })),
    retry: false,
    staleTime: FILES_STALE_MS,
  });
