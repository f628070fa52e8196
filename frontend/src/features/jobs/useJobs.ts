import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Job } from '@/api/types';
import { useLive } from '@/live/store';
import { type JobFilter, jobRows } from './list';
import { JOBS_KEY, jobsQuery, templatesQuery } from './queries';

interface Jobs {
  rows: Job[];
  /** of templates by name */
  titles: ReadonlyMap<string, string>;
  error: Error | null;
  loading: boolean;
  more: boolean;
  reading: boolean;
  readMore: () => void;
  /** what this browser has just removed */
  forget: (id: string) => void;
}

/** Jobs that leave the stream were removed, or only became too old for it: the portal knows. */
function useAskAgainWhenGone(live: readonly Job[] | null): void {
  const client = useQueryClient();
  const before = useRef(live);
  useEffect(() => {
    const now = new Set(live?.map((job) => job.id));
    const gone = live !== null && before.current?.some((job) => !now.has(job.id));
    before.current = live;
    if (gone) void client.invalidateQueries({ queryKey: JOBS_KEY });
  }, [live, client]);
}

/** The jobs a filter lets through: pages from the portal, kept up to date by the stream. */
export function useJobs(filter: JobFilter): Jobs {
  const live = useLive((s) => s.jobs);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } =
    useInfiniteQuery(jobsQuery(filter));
  const templates = useQuery(templatesQuery);
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  useAskAgainWhenGone(live);
  const { state, text } = filter;
  const rows = useMemo(() => {
    const read = data?.pages.flatMap((page) => page.items) ?? [];
    return jobRows(read, live ?? [], removed, { state, text });
  }, [data, live, removed, state, text]);
  const titles = useMemo(
    () => new Map(templates.data?.map(({ name, title }) => [name, title])),
    [templates.data],
  );
  return {
    rows,
    titles,
    error,
    loading: isPending,
    more: hasNextPage,
    reading: isFetchingNextPage,
    readMore: () => void fetchNextPage(),
    forget: useCallback((id) => setRemoved((before) => new Set(before).add(id)), []),
  };
}
