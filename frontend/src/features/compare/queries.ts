import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { components } from '@/api/schema';

export type Run = components['schemas']['ComparedRun'];

const REFETCH_MS = 15_000;

const isActiveRun = ({ job }: Run): boolean => job.state !== 'ended';

/** Runs with their last logged values; refetched while one of them is active. */
export const compareQuery = (ids: string[]) =>
  queryOptions({
    queryKey: ['compare', ids],
    queryFn: () => unwrap(api.GET('/api/v1/jobs/compare', { params: { query: { id: ids } } })),
    enabled: ids.length > 0,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.items.some(isActiveRun) ? REFETCH_MS : false),
  });
