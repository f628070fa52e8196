/** The list of jobs: what was asked for, with what has happened since. Pure. */
import type { Job } from '@/api/types';

export interface JobFilter {
  state: 'live' | 'ended' | 'all';
  /** found in names and Slurm's ids */
  text: string;
}

export function matches(job: Pick<Job, 'state' | 'name' | 'job_id'>, filter: JobFilter): boolean {
  if (filter.state !== 'all' && (job.state === 'ended') !== (filter.state === 'ended'))
    return false;
  const text = filter.text.trim().toLowerCase();
  return text === '' || job.name.toLowerCase().includes(text) || String(job.job_id) === text;
}

/** The pages read so far with what the stream knows better, newest first. */
export function jobRows(
  read: readonly Job[],
  live: readonly Job[],
  removed: ReadonlySet<string>,
  filter: JobFilter,
): Job[] {
  const rows = new Map(read.map((job) => [job.id, job]));
  for (const job of live) rows.set(job.id, job);
  return [...rows.values()]
    .filter((job) => !removed.has(job.id) && matches(job, filter))
    .sort((a, b) => b.submitted_at.localeCompare(a.submitted_at));
}
