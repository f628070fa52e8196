/** Which jobs stand on the home page. Pure. */
import type { Job } from '@/api/types';
import { isLive } from '@/live/reducer';

const MOST = 5;
const LATELY_MS = 24 * 60 * 60 * 1000;

/** What runs, what waits, then what has ended within a day; the newest of each first. */
export function atAGlance(jobs: readonly Job[], nowMs: number): Job[] {
  const place = (job: Job): number => {
    if (!isLive(job)) return 2;
    return job.state === 'queued' || job.state === 'submitting' ? 1 : 0;
  };
  const lately = (job: Job): boolean =>
    isLive(job) || (job.ended_at !== null && nowMs - Date.parse(job.ended_at) < LATELY_MS);
  const newest = (job: Job): string => job.ended_at ?? job.submitted_at;
  return jobs
    .filter(lately)
    .sort((a, b) => place(a) - place(b) || newest(b).localeCompare(newest(a)))
    .slice(0, MOST);
}
