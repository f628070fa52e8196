/** Queries of the pages about groups. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { GROUPS_KEY, type GroupsSearch, readGroups } from '@/features/directory/groups';

export const groupsQuery = (search: GroupsSearch) =>
  infiniteQueryOptions({
    queryKey: [...GROUPS_KEY, 'list', search.text, search.all],
    queryFn: ({ pageParam }) => readGroups(search, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    staleTime: 0,
  });

export const groupQuery = (name: string) =>
  queryOptions({
    queryKey: ['admin', 'group', name],
    queryFn: () =>
      unwrap(api.GET('/api/v1/admin/groups/{group}', { params: { path: { group: name } } })),
    staleTime: 0,
  });

/** A query for a group as its managers see it. */
export const managedGroupQuery = (name: string) =>
  queryOptions({
    queryKey: ['group', name],
    queryFn: () => unwrap(api.GET('/api/v1/groups/{group}', { params: { path: { group: name } } })),
    staleTime: 0,
  });
