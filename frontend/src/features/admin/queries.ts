import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { Session } from '@/api/types';
import { isActiveImport } from './images';

/** The event stream does not carry other users' sessions, so they are polled while the page is
 * open. */
const REFRESH_MS = 5000;

/** A cluster with more active sessions than these pages hold needs a search, not a longer list. */
const MAX_PAGES = 10;

async function allLive(): Promise<Session[]> {
  const sessions: Session[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const query: { state: 'live'; cursor?: string } = { state: 'live', ...(cursor && { cursor }) };
    const answer = await unwrap(api.GET('/api/v1/admin/sessions', { params: { query } }));
    sessions.push(...answer.items);
    cursor = answer.next_cursor ?? null;
    if (cursor === null) break;
  }
  return sessions;
}

export const allSessionsQuery = queryOptions({
  queryKey: ['admin', 'sessions'],
  queryFn: allLive,
  refetchInterval: (query) => (query.state.status === 'error' ? false : REFRESH_MS),
  staleTime: 0,
});

const FOLLOW_MS = 1000;

/** Polled often while an import runs, and rarely otherwise: other administrators import too. */
export const importsQuery = queryOptions({
  queryKey: ['admin', 'imports'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/admin/catalog/images/imports'))).items,
  refetchInterval: ({ state }) => {
    if (state.status === 'error') return false;
    return state.data?.some(isActiveImport) ? FOLLOW_MS : REFRESH_MS;
  },
  staleTime: 0,
});

export const imagesQuery = queryOptions({
  queryKey: ['admin', 'images'],
  queryFn: () => unwrap(api.GET('/api/v1/admin/catalog/images')),
  staleTime: 0,
});

/** Shows within seconds whether a corrected file is accepted; not polled in a hidden tab. */
const CATALOG_MS = 4000;

export const catalogQuery = queryOptions({
  queryKey: ['admin', 'catalog'],
  queryFn: () => unwrap(api.GET('/api/v1/admin/catalog')),
  refetchInterval: CATALOG_MS,
  staleTime: 0,
});
