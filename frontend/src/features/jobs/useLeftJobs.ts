import { useEffect, useMemo, useRef, useState } from 'react';
import type { Job } from '@/api/types';
import { growingPause, throttle } from '@/lib/throttle';
import { useLive } from '@/live/store';
import { fetchJobs, fetchNewestJobs } from './queries';
import type { JobsSearch } from './search';

type LeftJobs = ReadonlyMap<string, Job | null>;

interface Left {
  jobs: readonly Job[];
  removed: ReadonlySet<string>;
}

/** Follow the jobs that leave the stream, which has only the newest: they were removed, or there
 * are newer ones. Only they are fetched, and after an outage the first page of the list; the pages
 * of a long list are not. */
export function useLeftJobs(liveJobs: readonly Job[] | null, search: JobsSearch): Left {
  const [left, setLeft] = useState<LeftJobs>(new Map());
  const leaving = useRef(new Set<string>());
  const keep = useMemo(
    () => (found: Iterable<readonly [string, Job | null]>) =>
      setLeft((before) => new Map([...before, ...found])),
    [],
  );
  const reading = useMemo(
    () =>
      throttle(async () => {
        const ids = [...leaving.current];
        const found = await fetchJobs(ids).catch(() => null);
        if (found === null) return; // shown as last seen, and asked for with the next ones
        for (const id of ids) leaving.current.delete(id);
        const byId = new Map(found.map((job) => [job.id, job]));
        keep(ids.map((id) => [id, byId.get(id) ?? null] as const));
      }, growingPause),
    [keep],
  );
  useEffect(() => reading.stop, [reading]);
  const before = useRef(liveJobs);
  useEffect(() => {
    const ids = new Set(liveJobs?.map(({ id }) => id));
    const gone = liveJobs === null ? [] : (before.current ?? []).filter(({ id }) => !ids.has(id));
    before.current = liveJobs;
    if (gone.length === 0) return;
    keep(gone.map((job) => [job.id, job] as const));
    for (const { id } of gone) leaving.current.add(id);
    reading.request();
  }, [liveJobs, keep, reading]);
  useMissedJobs(search, keep);
  return useMemo(() => toLeft(left), [left]);
}

/** Fetch the first page after an outage of the stream: some may have come and left by then. */
function useMissedJobs(
  search: JobsSearch,
  keep: (found: Iterable<readonly [string, Job | null]>) => void,
): void {
  const link = useLive((state) => state.link);
  const latest = useRef(search);
  latest.current = search;
  const wasLost = useRef(false);
  useEffect(() => {
    if (link === 'lost') wasLost.current = true;
    if (link !== 'open' || !wasLost.current) return;
    wasLost.current = false;
    void fetchNewestJobs(latest.current).then(
      (found) => keep(found.map((job) => [job.id, job] as const)),
      () => {
        wasLost.current = true; // the next connection tries again
      },
    );
  }, [link, keep]);
}

function toLeft(left: LeftJobs): Left {
  const jobs: Job[] = [];
  const removed = new Set<string>();
  for (const [id, job] of left) {
    if (job === null) removed.add(id);
    else jobs.push(job);
  }
  return { jobs, removed };
}
