/** A job's usage over time, as measured on its nodes: the query, and notes on missing data. */
import { plural, t } from '@lingui/core/macro';
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { components } from '@/api/schema';
import type { JobDetail } from '@/api/types';
import { duration } from '@/lib/time';

export type JobUsageOverTime = components['schemas']['JobUsageOut'];
type MeasuredJob = Pick<JobDetail, 'state' | 'started_at' | 'ended_at'>;

const REFRESH_MS = 10_000;
/** The last points of the nodes appear within this time after the end. */
const SETTLES_MS = 60_000;
/** Between the start of a job and its second measurement. */
const FIRST_POINTS_MS = 15_000;
/** Data that is missing for longer than this is reported. */
const LATE_MS = 60_000;
/** A line needs two points. */
const FEWEST_POINTS = 2;

export const jobUsageQuery = (id: string, task: number | undefined) =>
  queryOptions({
    queryKey: ['job-usage', id, task ?? null],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/jobs/{batch_job_id}/usage', {
          params: { path: { batch_job_id: id }, query: task === undefined ? {} : { task } },
        }),
      ),
    staleTime: REFRESH_MS / 2,
  });

/** Return the interval of requests, which while the job runs is not shorter than that of its points;
 * false once all of them are known. */
export function refreshInterval(
  job: MeasuredJob,
  usage: JobUsageOverTime | undefined,
  nowMs: number,
): number | false {
  if (job.state === 'ended') {
    const since = job.ended_at === null ? SETTLES_MS : nowMs - Date.parse(job.ended_at);
    return since < SETTLES_MS ? REFRESH_MS : false;
  }
  const stepsMs = (usage?.nodes ?? []).map(({ step_s }) => step_s * 1000);
  return Math.max(REFRESH_MS, ...(stepsMs.length > 0 ? [Math.min(...stepsMs)] : []));
}

/** Return whether there are enough points for a line. */
export const isDrawable = ({ nodes }: JobUsageOverTime): boolean =>
  nodes.some(({ at }) => at.length >= FEWEST_POINTS);

/** Return why there are no charts, or what they lack; null if they are complete. */
export function overTimeNote(
  job: MeasuredJob,
  usage: JobUsageOverTime,
  nowMs: number,
): string | null {
  if (isDrawable(usage)) return leftOutText(usage) ?? staleText(job, usage, nowMs);
  if (!usage.measured)
    return job.state === 'ended'
      ? t`Its usage over time was not measured.`
      : t`Its usage over time is not measured.`;
  const start = Date.parse(job.started_at ?? '');
  if (job.state === 'ended') {
    const ran = Date.parse(job.ended_at ?? '') - start;
    return ran < FIRST_POINTS_MS
      ? t`It was too short to measure its usage over time.`
      : t`Its usage over time was not measured.`;
  }
  return nowMs - start < LATE_MS
    ? t`The first measurements appear a few seconds after the start.`
    : t`Its usage over time is not measured.`;
}

function leftOutText({ nodes_left_out: count }: JobUsageOverTime): string | null {
  if (count === 0) return null;
  return plural(count, { one: '# more node is not shown.', other: '# more nodes are not shown.' });
}

function staleText(job: MeasuredJob, usage: JobUsageOverTime, nowMs: number): string | null {
  if (job.state !== 'running') return null;
  const latest = Math.max(...usage.nodes.map(({ at }) => at.at(-1) ?? 0)) * 1000;
  const step = Math.max(...usage.nodes.map(({ step_s }) => step_s)) * 1000;
  const age = nowMs - latest;
  return age > LATE_MS + 3 * step
    ? t`No new data from its nodes for ${{ time: duration(age) }}.`
    : null;
}
