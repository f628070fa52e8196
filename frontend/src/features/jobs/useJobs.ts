import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Job } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { growingPause, throttle } from '@/lib/throttle';
import { useLive } from '@/live/store';
import { jobRows, unplaced } from './list';
import { COUNTS_KEY, JOBS_KEY, jobsQuery, templatesQuery } from './queries';
import { countShown, type JobsSearch } from './search';
import { type CountsByState, useJobCounts } from './useJobCount';

export interface Jobs {
  rows: Job[];
  /** the number of jobs that match the filters; undefined until it is known */
  count: number | undefined;
  /** the number of jobs in each state that match the other filters */
  counts: CountsByState | undefined;
  /** by template name */
  titles: ReadonlyMap<string, string>;
  error: Error | null;
  retry: () => void;
  loading: boolean;
  more: boolean;
  reading: boolean;
  /** fetches the next page */
  readMore: () => void;
  /** removes jobs from the list that this browser has just deleted */
  forget: (...ids: string[]) => void;
}

/** With more pages than these, the list is refetched only after a longer pause, as each page is a
 * request. */
const FEW_PAGES = 2;
const PAUSE_MS = 5000;

/** Refetch the pages; the present ones stay visible until then. */
function useRefetch(pages: number): () => void {
  const client = useQueryClient();
  const read = useRef(pages);
  read.current = pages;
  const reading = useMemo(() => {
    const queryKey = [...JOBS_KEY, 'pages'];
    const least = (): number => (read.current > FEW_PAGES ? PAUSE_MS : 0);
    return throttle(
      () => client.invalidateQueries({ queryKey }),
      (runs) => Math.max(least(), growingPause(runs)),
    );
  }, [client]);
  useEffect(() => reading.stop, [reading]);
  return reading.request;
}

/** Refetch when jobs leave the stream, which were removed or only became too old for it. */
function useRefetchOnGoneJobs(live: readonly Job[] | null, refetch: () => void): void {
  const before = useRef(live);
  useEffect(() => {
    const ids = new Set(live?.map(({ id }) => id));
    const isGone = live !== null && before.current?.some(({ id }) => !ids.has(id));
    before.current = live;
    if (isGone) refetch();
  }, [live, refetch]);
}

/** Fetch the positions of these jobs, once; jobs that fit on no loaded page can wait. */
function useQueuePositions(ids: string[], refetch: () => void): void {
  const key = [...ids].sort().join();
  useEffect(() => {
    if (key !== '') refetch();
  }, [key, refetch]);
}

/** The jobs that match a filter: pages from the portal, kept up to date by the stream. */
export function useJobs(search: JobsSearch): Jobs {
  const live = useLive((s) => s.jobs);
  const client = useQueryClient();
  const pages = useInfiniteQuery(jobsQuery(search));
  const { data, isPending, isFetchNextPageError, isFetchingNextPage, fetchNextPage } = pages;
  const templates = useQuery(templatesQuery);
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const refetch = useRefetch(data?.pages.length ?? 0);
  useRefetchOnGoneJobs(live, refetch);
  const counts = useJobCounts(search);
  const read = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const rows = useMemo(
    () => jobRows(read, live ?? [], removed, search),
    [read, live, removed, search],
  );
  useQueuePositions(isPending ? [] : unplaced(read, live ?? [], removed, search), refetch);
  const titles = useMemo(
    () => new Map(templates.data?.map(({ name, title }) => [name, translateExact(title)])),
    [templates.data],
  );
  const forget = useCallback(
    (...ids: string[]) => {
      setRemoved((before) => new Set([...before, ...ids]));
      void client.invalidateQueries({ queryKey: COUNTS_KEY });
    },
    [client],
  );
  const readMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  return {
    rows,
    count: counts && countShown(counts, search.state),
    counts,
    titles,
    error: pages.error,
    retry: () => void (isFetchNextPageError ? fetchNextPage() : pages.refetch()),
    loading: isPending,
    more: pages.hasNextPage,
    reading: isFetchingNextPage,
    readMore,
    forget,
  };
}
