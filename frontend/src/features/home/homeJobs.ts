/** The selection of jobs on the home page. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Job } from '@/api/types';
import { isActive } from '@/live/reducer';

const MAX_LIVE = 4;
const MAX_ENDED = 3;
const LATELY_MS = 24 * 60 * 60 * 1000;

const waits = ({ state }: Job): number => (state === 'queued' || state === 'submitting' ? 1 : 0);

/** Return running jobs, then pending ones, then those that ended within a day; in each the newest
 * first. */
export function jobsForHome(jobs: readonly Job[], nowMs: number): Job[] {
  const liveJobs = jobs
    .filter(isActive)
    .sort((a, b) => waits(a) - waits(b) || b.submitted_at.localeCompare(a.submitted_at));
  const ended = jobs
    .filter(({ ended_at: at }) => at !== null && nowMs - Date.parse(at) < LATELY_MS)
    .sort((a, b) => (b.ended_at ?? '').localeCompare(a.ended_at ?? ''));
  return [...liveJobs.slice(0, MAX_LIVE), ...ended.slice(0, MAX_ENDED)];
}

/**
 * Return a label for the active jobs that are not shown, or null if there are none. `count` is the
 * number of all active jobs, undefined while unknown.
 */
export function moreText(shown: number, count: number | undefined): string | null {
  if (count === undefined) return t`More jobs are queued or running`;
  const more = count - shown;
  if (more <= 0) return null;
  return plural(more, { one: '# more queued or running', other: '# more queued or running' });
}
