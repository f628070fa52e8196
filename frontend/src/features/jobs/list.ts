/** The list of jobs: the fetched pages with later changes applied. Pure. */
import type { Job } from '@/api/types';
import { columnValue } from './columnValues';
import { type JobsSearch, matches } from './search';

type Key = string | number | null;
type Compare = (a: Job, b: Job) => number;

// not localeCompare, which takes a second for 10,000 jobs
function byKey(a: Key, b: Key): number {
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  if (a === b || a === null || b === null) return 0;
  return a < b ? -1 : 1;
}

function durationS({ started_at: started, ended_at: ended }: Job): number | null {
  if (started === null || ended === null) return null;
  return Math.floor((Date.parse(ended) - Date.parse(started)) / 1000);
}

function keyOf(job: Job, { order, by }: JobsSearch): Key {
  switch (order) {
    case 'name':
    case 'name_down':
      return job.name;
    case 'ended':
    case 'ended_up':
      return job.ended_at;
    case 'started':
    case 'started_up':
      return job.started_at;
    case 'duration':
    case 'duration_up':
      return durationS(job);
    case 'value':
    case 'value_up':
      return by === undefined ? null : columnValue(job, by);
    default:
      return job.submitted_at;
  }
}

const ASCENDING = new Set(['oldest', 'name', 'ended_up', 'started_up', 'duration_up', 'value_up']);

/** Return the portal's order of jobs; but texts are compared by character code here, and by the
 * database's collation there. */
function comparison(search: JobsSearch): Compare {
  const sign = ASCENDING.has(search.order ?? 'newest') ? 1 : -1;
  return (a, b) => sign * (byKey(keyOf(a, search), keyOf(b, search)) || byKey(a.id, b.id));
}

/** Put a job before the first row that comes after it; the others keep their places. */
function insert(rows: Job[], job: Job, compare: Compare): void {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const there = rows[middle];
    if (there && compare(there, job) < 0) from = middle + 1;
    else to = middle;
  }
  rows.splice(from, 0, job);
}

/** Merge the loaded pages with newer data of jobs (`changed`, the newest last). A job that is on no
 * page gets its place among the rows, unless it belongs on a later page. */
export function jobRows(
  fetched: readonly Job[],
  changed: readonly Job[],
  removed: ReadonlySet<string>,
  search: JobsSearch,
  hasMore: boolean,
): Job[] {
  const isShown = (job: Job): boolean => !removed.has(job.id) && matches(job, search);
  const newest = new Map(changed.map((job) => [job.id, job]));
  const pages = new Map(fetched.map((job) => [job.id, newest.get(job.id) ?? job]));
  const rows = [...pages.values()].filter(isShown);
  const compare = comparison(search);
  const last = fetched.at(-1);
  const added = [...newest.values()].filter(
    (job) => !pages.has(job.id) && isShown(job) && !(hasMore && last && compare(job, last) > 0),
  );
  if (search.order === 'name' || search.order === 'name_down') {
    for (const job of added) insert(rows, job, compare);
    return rows;
  }
  return [...rows, ...added].sort(compare);
}
