/** What these pages ask the portal about groups. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { GroupRow, GroupsPage } from './shapes';
import { isBare } from './words';

export const GROUPS_KEY = ['admin', 'groups'] as const;

export interface GroupsSearch {
  text: string;
  /** those with nobody in them too, of which each person may have one of their own */
  all: boolean;
}

const PAGE = 200;
const ENOUGH = 30;
const MOST_PAGES = 5;

interface GroupsFound extends GroupsPage {
  leftOut: number;
}

/** Reads on until there is something to show: of the groups most may be people's own. */
async function readGroups({ text, all }: GroupsSearch, from: string | null): Promise<GroupsFound> {
  const items: GroupRow[] = [];
  let [cursor, leftOut] = [from, 0];
  for (let pages = 1; ; pages++) {
    const page = await unwrap(
      api.GET('/api/v1/admin/groups', {
        params: { query: { query: text, cursor, limit: PAGE } },
      }),
    );
    const shown = all || text !== '' ? page.items : page.items.filter((row) => !isBare(row));
    items.push(...shown);
    leftOut += page.items.length - shown.length;
    cursor = page.next_cursor;
    if (cursor === null || items.length >= ENOUGH || pages === MOST_PAGES)
      return { ...page, items, leftOut };
  }
}

export const groupsQuery = (search: GroupsSearch) =>
  infiniteQueryOptions({
    queryKey: [...GROUPS_KEY, 'list', search.text, search.all],
    queryFn: ({ pageParam }) => readGroups(search, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    staleTime: 0,
  });

const MOST_FOUND = 20;

/** For a field that searches: a handful of groups. */
export const groupsFoundQuery = (text: string) =>
  queryOptions({
    queryKey: [...GROUPS_KEY, 'found', text],
    queryFn: async () => (await readGroups({ text, all: false }, null)).items.slice(0, MOST_FOUND),
  });

export const groupQuery = (name: string) =>
  queryOptions({
    queryKey: ['admin', 'group', name],
    queryFn: () =>
      unwrap(api.GET('/api/v1/admin/groups/{group}', { params: { path: { group: name } } })),
    staleTime: 0,
  });

/** The same as its leaders see it. */
export const ledGroupQuery = (name: string) =>
  queryOptions({
    queryKey: ['group', name],
    queryFn: () => unwrap(api.GET('/api/v1/groups/{group}', { params: { path: { group: name } } })),
    staleTime: 0,
  });
