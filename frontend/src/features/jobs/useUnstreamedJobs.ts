import { useEffect, useMemo, useRef, useState } from 'react';
import type { Job } from '@/api/types';
import { growingPause, throttle } from '@/lib/throttle';
import { useLive } from '@/live/store';
import { fetchFirstPage, fetchJobs } from './queries';
import type { JobsSearch } from './search';

/** By id; null: it was removed. */
type JobsById = ReadonlyMap<string, Job | null>;

interface UnstreamedJobs {
  jobs: readonly Job[];
  removed: ReadonlySet<string>;
}

/** Follow the jobs that leave the stream, which has only the newest: they were removed, or there
 * are newer ones. Only they are fetched, and after an outage the first page of the list; the pages
 * of a long list are not. */
export function useUnstreamedJobs(
  streamedJobs: readonly Job[] | null,
  search: JobsSearch,
): UnstreamedJobs {
  const [unstreamed, setUnstreamed] = useState<JobsById>(new Map());
  const unfetched = useRef(new Set<string>());
  const record = useMemo(
    () => (found: Iterable<readonly [string, Job | null]>) =>
      setUnstreamed((before) => new Map([...before, ...found])),
    [],
  );
  const fetching = useMemo(
    () =>
      throttle(async () => {
        const ids = [...unfetched.current];
        const found = await fetchJobs(ids).catch(() => null);
        if (found === null) return; // shown as last seen, and asked for with the next ones
        for (const id of ids) unfetched.current.delete(id);
        const byId = new Map(found.map((job) => [job.id, job]));
        record(ids.map((id) => [id, byId.get(id) ?? null] as const));
      }, growingPause),
    [record],
  );
  useEffect(() => fetching.stop, [fetching]);
  const before = useRef(streamedJobs);
  useEffect(() => {
    const ids = new Set(streamedJobs?.map(({ id }) => id));
    const gone =
      streamedJobs === null ? [] : (before.current ?? []).filter(({ id }) => !ids.has(id));
    before.current = streamedJobs;
    if (gone.length === 0) return;
    record(gone.map((job) => [job.id, job] as const));
    for (const { id } of gone) unfetched.current.add(id);
    fetching.request();
  }, [streamedJobs, record, fetching]);
  useMissedJobs(search, record);
  return useMemo(() => toUnstreamedJobs(unstreamed), [unstreamed]);
}

/** Fetch the first page after an outage of the stream: jobs may have entered and left it in that time. */
function useMissedJobs(
  search: JobsSearch,
  record: (found: Iterable<readonly [string, Job | null]>) => void,
): void {
  const connection = useLive((state) => state.connection);
  const latest = useRef(search);
  latest.current = search;
  const wasLost = useRef(false);
  useEffect(() => {
    if (connection === 'lost') wasLost.current = true;
    if (connection !== 'open' || !wasLost.current) return;
    wasLost.current = false;
    void fetchFirstPage(latest.current).then(
      (found) => record(found.map((job) => [job.id, job] as const)),
      () => {
        wasLost.current = true; // the next connection tries again
      },
    );
  }, [connection, record]);
}

function toUnstreamedJobs(unstreamed: JobsById): UnstreamedJobs {
  const jobs: Job[] = [];
  const removed = new Set<string>();
  for (const [id, job] of unstreamed) {
    if (job === null) removed.add(id);
    else jobs.push(job);
  }
  return { jobs, removed };
}
