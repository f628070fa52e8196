import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Job } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { useLive } from '@/live/store';
import { jobRows, unplaced } from './list';
import { JOBS_KEY, jobsQuery, templatesQuery } from './queries';
import type { JobsSearch } from './search';
import { throttle } from './throttle';
import { useJobCount } from './useJobCount';

interface Jobs {
  rows: Job[];
  /** how many the filters let through; undefined until it is known */
  count: number | undefined;
  /** of templates by name */
  titles: ReadonlyMap<string, string>;
  error: Error | null;
  loading: boolean;
  more: boolean;
  reading: boolean;
  readMore: () => void;
  /** what this browser has just removed */
  forget: (...ids: string[]) => void;
}

/** So many pages are read again for each change; more than these with a pause, as each is a request. */
const FEW_PAGES = 2;
const PAUSE_MS = 5000;

/** Refetch the pages and the number of jobs; the present ones stay visible until then. */
function useAgain(pages: number): () => void {
  const client = useQueryClient();
  const read = useRef(pages);
  read.current = pages;
  const reading = useMemo(() => {
    const queryKey = [...JOBS_KEY, 'pages'];
    const pause = (): number => (read.current > FEW_PAGES ? PAUSE_MS : 0);
    return throttle(() => client.invalidateQueries({ queryKey }), pause);
  }, [client]);
  useEffect(() => reading.stop, [reading]);
  return useCallback(() => {
    reading.ask();
    void client.invalidateQueries({ queryKey: [...JOBS_KEY, 'count'] });
  }, [reading, client]);
}

/** Jobs that leave the stream were removed, or only became too old for it, and new ones have a place
 * in the list: the portal knows. */
function useAskAgainWhenOthers(live: readonly Job[] | null, again: () => void): void {
  const before = useRef(live);
  useEffect(() => {
    const ids = (jobs: readonly Job[]): string =>
      jobs
        .map(({ id }) => id)
        .sort()
        .join();
    const others = live !== null && before.current !== null && ids(before.current) !== ids(live);
    before.current = live;
    if (others) again();
  }, [live, again]);
}

/** Fetch the positions of these jobs, once; jobs that fit on no loaded page can wait. */
function useQueuePositions(ids: string[], again: () => void): void {
  const wanted = [...ids].sort().join();
  useEffect(() => {
    if (wanted !== '') again();
  }, [wanted, again]);
}

/** The jobs a filter lets through: pages from the portal, kept up to date by the stream. */
export function useJobs(search: JobsSearch): Jobs {
  const live = useLive((s) => s.jobs);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } =
    useInfiniteQuery(jobsQuery(search));
  const templates = useQuery(templatesQuery);
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const again = useAgain(data?.pages.length ?? 0);
  useAskAgainWhenOthers(live, again);
  const count = useJobCount(search);
  const read = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const rows = useMemo(
    () => jobRows(read, live ?? [], removed, search),
    [read, live, removed, search],
  );
  useQueuePositions(isPending ? [] : unplaced(read, live ?? [], removed, search), again);
  const titles = useMemo(
    () => new Map(templates.data?.map(({ name, title }) => [name, translateExact(title)])),
    [templates.data],
  );
  return {
    rows,
    count,
    titles,
    error,
    loading: isPending,
    more: hasNextPage,
    reading: isFetchingNextPage,
    readMore: () => void fetchNextPage(),
    forget: useCallback((...ids) => setRemoved((before) => new Set([...before, ...ids])), []),
  };
}
