/** Queries of the directory's groups, for lists and search fields. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { components } from '@/api/schema';

type GroupRow = components['schemas']['GroupRow'];
type GroupsPage = components['schemas']['Groups'];

/** Return whether a group has no members and no effects: usually a user's private group. */
export const isBare = (
  group: Pick<GroupRow, 'member_count' | 'makes_admins' | 'lets_in' | 'description'>,
): boolean =>
  group.member_count === 0 && !group.makes_admins && !group.lets_in && !group.description;

export const GROUPS_KEY = ['admin', 'groups'] as const;

export interface GroupsSearch {
  text: string;
  /** include empty groups, such as the private group of each user */
  all: boolean;
}

const PAGE = 200;
const ENOUGH = 30;
const MAX_PAGES = 5;

interface GroupsFound extends GroupsPage {
  leftOut: number;
}

/** Read pages until one has something to show: most groups may be private groups of users. */
export async function readGroups(
  { text, all }: GroupsSearch,
  from: string | null,
): Promise<GroupsFound> {
  const items: GroupRow[] = [];
  let [cursor, leftOut] = [from, 0];
  for (let pages = 1; ; pages++) {
    const page = await unwrap(
      api.GET('/api/v1/admin/groups', {
        params: { query: { query: text, cursor, limit: PAGE } },
      }),
    );
    const visible = all || text !== '' ? page.items : page.items.filter((row) => !isBare(row));
    items.push(...visible);
    leftOut += page.items.length - visible.length;
    cursor = page.next_cursor;
    if (cursor === null || items.length >= ENOUGH || pages === MAX_PAGES)
      return { ...page, items, leftOut };
  }
}

const MAX_FOUND = 20;

/** A query for a search field: the first few matching groups. */
export const groupsFoundQuery = (text: string) =>
  queryOptions({
    queryKey: [...GROUPS_KEY, 'found', text],
    queryFn: async () => (await readGroups({ text, all: false }, null)).items.slice(0, MAX_FOUND),
  });
