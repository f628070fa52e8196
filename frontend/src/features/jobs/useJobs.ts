import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import type { Job } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { useLive } from '@/live/store';
import { jobRows } from './list';
import { COUNTS_KEY, jobsQuery, templatesQuery } from './queries';
import { countMatching, type JobsSearch } from './search';
import { type CountsByState, useJobCounts } from './useJobCount';
import { useUnstreamedJobs } from './useUnstreamedJobs';

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
  hasMore: boolean;
  isFetchingMore: boolean;
  /** fetches the next page */
  fetchMore: () => void;
  /** removes jobs from the list that this browser has just deleted */
  removeRows: (...ids: string[]) => void;
}

/** The jobs that match a filter: pages from the portal, kept up to date by the stream. */
export function useJobs(search: JobsSearch): Jobs {
  const streamedJobs = useLive((s) => s.jobs);
  const client = useQueryClient();
  const pages = useInfiniteQuery(jobsQuery(search));
  const { data, isPending, isFetchNextPageError, isFetchingNextPage, fetchNextPage } = pages;
  const templates = useQuery(templatesQuery);
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const unstreamed = useUnstreamedJobs(streamedJobs, search);
  const counts = useJobCounts(search);
  const fetched = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const rows = useMemo(() => {
    const changed = [...unstreamed.jobs, ...(streamedJobs ?? [])];
    const gone = new Set([...unstreamed.removed, ...removed]);
    return jobRows(fetched, changed, gone, search, pages.hasNextPage);
  }, [fetched, streamedJobs, unstreamed, removed, search, pages.hasNextPage]);
  const titles = useMemo(
    () => new Map(templates.data?.map(({ name, title }) => [name, translateExact(title)])),
    [templates.data],
  );
  const removeRows = useCallback(
    (...ids: string[]) => {
      setRemoved((before) => new Set([...before, ...ids]));
      void client.invalidateQueries({ queryKey: COUNTS_KEY });
    },
    [client],
  );
  const fetchMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  return {
    rows,
    count: counts && countMatching(counts, search.state),
    counts,
    titles,
    error: pages.error,
    retry: () => void (isFetchNextPageError ? fetchNextPage() : pages.refetch()),
    loading: isPending,
    hasMore: pages.hasNextPage,
    isFetchingMore: isFetchingNextPage,
    fetchMore,
    removeRows,
  };
}
