import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { type AuditSearch, toQuery } from './search';

export const auditQuery = (search: AuditSearch) =>
  infiniteQueryOptions({
    queryKey: ['admin', 'audit', search],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET('/api/v1/admin/audit', {
          params: { query: { ...toQuery(search), ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    staleTime: 0,
  });

/** The existing actions; they only change with the portal's version, so they are fetched once. */
export const actionsQuery = queryOptions({
  queryKey: ['admin', 'audit-actions'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/admin/audit/actions'))).items,
  staleTime: Number.POSITIVE_INFINITY,
});
