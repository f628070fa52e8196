/**
 * Queries of the cluster page. They cost Slurm nothing: the portal answers from its last snapshot.
 */
import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, unwrap } from '@/api/client';
import { useLive } from '@/live/store';
import type { HistoryRange } from './types';

const REFRESH_MS = 20_000;
const RESERVATIONS_MS = 60_000;
/** The portal records once a minute. */
const HISTORY_MS = 60_000;
/** Several changes within this time cause one request. */
const SETTLE_MS = 400;
const KEY = 'cluster';

export const nodesQuery = queryOptions({
  queryKey: [KEY, 'nodes'],
  queryFn: () => unwrap(api.GET('/api/v1/cluster/nodes')),
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

export const queueQuery = queryOptions({
  queryKey: [KEY, 'queue'],
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
export function useFreshCluster(): void {
  const client = useQueryClient();
  const cluster = useLive((s) => s.cluster);
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  // biome-ignore lint/correctness/useExhaustiveDependencies: that they change is what matters
  useEffect(() => {
    const timer = window.setTimeout(() => {
      void client.invalidateQueries({ queryKey: nodesQuery.queryKey });
      void client.invalidateQueries({ queryKey: queueQuery.queryKey });
    }, SETTLE_MS);
    return () => window.clearTimeout(timer);
  }, [client, cluster, sessions, jobs]);
}
