/** The list of jobs: the fetched pages with later changes applied. Pure. */
import type { Job } from '@/api/types';
import { type JobsSearch, matches } from './search';

const newestFirst = (a: Job, b: Job): number => b.submitted_at.localeCompare(a.submitted_at);

/** The pages read so far, with what the stream knows better. What is new stands on top of a list that
 * begins with the newest; in any other order the portal knows its place, and is asked for it. */
export function jobRows(
  read: readonly Job[],
  live: readonly Job[],
  removed: ReadonlySet<string>,
  search: JobsSearch,
): Job[] {
  const known = new Map(live.map((job) => [job.id, job]));
  const rows = read.map((job) => known.get(job.id) ?? job);
  if (search.order === undefined) {
    const there = new Set(read.map(({ id }) => id));
    rows.push(...live.filter(({ id }) => !there.has(id)));
    rows.sort(newestFirst);
  }
  return rows.filter((job) => !removed.has(job.id) && matches(job, search));
}

/** Jobs that belong into a list whose order only the portal knows, and that it has not named yet: they
 * may have their place on a page that is read already. */
export function unplaced(
  read: readonly Job[],
  live: readonly Job[],
  removed: ReadonlySet<string>,
  search: JobsSearch,
): string[] {
  if (search.order === undefined) return [];
  const there = new Set(read.map(({ id }) => id));
  const missing = live.filter((job) => !there.has(job.id) && !removed.has(job.id));
  return missing.filter((job) => matches(job, search)).map(({ id }) => id);
}
