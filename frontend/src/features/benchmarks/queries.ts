import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { components } from '@/api/schema';

type Schemas = components['schemas'];
export type BenchmarkRun = Schemas['BenchmarkRunOut'];
export type ClusterFigure = Schemas['ClusterFigureOut'];
export type Labels = ClusterFigure['labels'];

/** A run's figures are read some seconds after its end. */
const EVERY_MS = 20_000;

export const runsQuery = (template?: string) =>
  infiniteQueryOptions({
    queryKey: ['benchmarks', 'runs', template ?? null],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET('/api/v1/benchmarks', {
          params: { query: { template: template ?? null, cursor: pageParam } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    refetchInterval: EVERY_MS,
  });

export const clusterFiguresQuery = queryOptions({
  queryKey: ['benchmarks', 'cluster'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/benchmarks/cluster'))).items,
  refetchInterval: EVERY_MS,
});
