/**
 * Queries of the cluster page. They cost Slurm nothing: the portal answers from its last snapshot.
 */
import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, unwrap } from '@/api/client';
import type { paths } from '@/api/schema';
import { useLive } from '@/live/store';
import { applyAnswer, type NodeMapData } from './nodeMap';
import { type ClusterSearch, filterOf, isFiltered, toQuery } from './search';
import type { HistoryRange, MapAnswer } from './types';

const REFRESH_MS = 20_000;
const RESERVATIONS_MS = 60_000;
/** The portal records once a minute. */
const HISTORY_MS = 60_000;
/** Several changes within this time cause one request. */
const SETTLE_MS = 400;
const KEY = 'cluster';
/** The most nodes out of service that are listed; a link leads to the others. */
export const MAX_OUT = 8;

/** The queries that change with the nodes and jobs in Slurm. */
const NOW = [KEY, 'now'] as const;

/** nodes per page of the table */
const PAGE = 100;

export function nodesQuery(search: ClusterSearch) {
  const filter = filterOf(search);
  const { sort: order = 'name', desc = false } = search;
  return infiniteQueryOptions({
    queryKey: [...NOW, 'nodes', filter, order, desc],
    queryFn: ({ pageParam }) =>
      fetchNodes({ ...toQuery(filter), order, desc, limit: PAGE, cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });
}

type NodeQuery = NonNullable<paths['/api/v1/cluster/nodes']['get']['parameters']['query']>;

const fetchNodes = (query: NodeQuery) =>
  unwrap(api.GET('/api/v1/cluster/nodes', { params: { query } }));

/** The first nodes that accept no jobs. */
export const outQuery = queryOptions({
  queryKey: [...NOW, 'out'],
  queryFn: () => fetchNodes({ show: 'out', limit: MAX_OUT }),
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

export const nodeQuery = (name: string) =>
  queryOptions({
    queryKey: [...NOW, 'node', name],
    queryFn: () => unwrap(api.GET('/api/v1/cluster/nodes/{name}', { params: { path: { name } } })),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });

/** All nodes, or those that match a filter. Later requests without a filter fetch only changes. */
export const mapQuery = (search: ClusterSearch) => {
  const filter = filterOf(search);
  const queryKey = [...NOW, 'map', filter] as const;
  return queryOptions({
    queryKey,
    queryFn: async ({ client }): Promise<NodeMapData> => {
      const before = client.getQueryData<NodeMapData>(queryKey);
      const query = isFiltered(filter) ? toQuery(filter) : { since: before?.version ?? null };
      const answer = await unwrap(api.GET('/api/v1/cluster/map', { params: { query } }));
      return applyAnswer(before, answer as MapAnswer); // openapi-fetch makes tuples arrays
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
    staleTime: 0,
    structuralSharing: false,
  });
};

/** The GPUs of all nodes. */
export const gpusQuery = queryOptions({
  queryKey: [...NOW, 'gpus'],
  queryFn: () => unwrap(api.GET('/api/v1/cluster/gpus')),
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

export const queueQuery = queryOptions({
  queryKey: [...NOW, 'queue'],
  queryFn: () => unwrap(api.GET('/api/v1/cluster/queue')),
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

export const reservationsQuery = queryOptions({
  queryKey: [KEY, 'reservations'],
  queryFn: () => unwrap(api.GET('/api/v1/cluster/reservations')),
  refetchInterval: RESERVATIONS_MS,
  staleTime: 0,
});

export const historyQuery = (range: HistoryRange) =>
  queryOptions({
    queryKey: [KEY, 'history', range],
    queryFn: () => unwrap(api.GET('/api/v1/cluster/history', { params: { query: { range } } })),
    refetchInterval: HISTORY_MS,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

/**
 * Refetch nodes and queues when the live stream reports a change to the cluster or to the user's
 * own work.
 */
export function useRefetchOnClusterChange(): void {
  const client = useQueryClient();
  const cluster = useLive((s) => s.cluster);
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the live state is the reason to refetch
  useEffect(() => {
    const timer = window.setTimeout(() => {
      void client.invalidateQueries({ queryKey: NOW });
    }, SETTLE_MS);
    return () => window.clearTimeout(timer);
  }, [client, cluster, sessions, jobs]);
}
