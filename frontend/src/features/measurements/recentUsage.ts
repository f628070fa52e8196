/** The recent usage of the user's running sessions and jobs: one request for all of them. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { UsageTrend } from './trend';

/** Nodes report about as often. Nothing is fetched in hidden tabs, or while no part of the page shows it. */
const REFRESH_MS = 30_000;

export const recentUsageQuery = queryOptions({
  queryKey: ['recent-usage'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/me/recent-usage'))).items,
  refetchInterval: REFRESH_MS,
  staleTime: REFRESH_MS / 2,
  retry: false,
});

/** The recent usage of a running session or job; undefined while it is unknown. */
export function useTrend(id: string): { trend: UsageTrend | undefined; loading: boolean } {
  const { data, isPending } = useQuery(recentUsageQuery);
  return { trend: data?.find((item) => item.id === id), loading: isPending };
}
