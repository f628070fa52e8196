/** The curves of the scalars that jobs and sessions have logged. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { components } from '@/api/schema';
import type { Job } from '@/api/types';

export type JobCurves = components['schemas']['JobCurvesOut'];
export type Curve = components['schemas']['CurveOut'];

const EVERY_MS = 15_000;
/** The last values may be written until this long after the end. */
const SETTLES_MS = 60_000;

const curvesQuery = (queryKey: (string | number | null)[], queryFn: () => Promise<JobCurves>) =>
  queryOptions({ queryKey, queryFn, staleTime: EVERY_MS });

export const jobCurvesQuery = (id: string, task: number | undefined) =>
  curvesQuery(['job-curves', id, task ?? null], () =>
    unwrap(
      api.GET('/api/v1/jobs/{batch_job_id}/curves', {
        params: { path: { batch_job_id: id }, query: task === undefined ? {} : { task } },
      }),
    ),
  );

export const sessionCurvesQuery = (id: string) =>
  curvesQuery(['session-curves', id], () =>
    unwrap(
      api.GET('/api/v1/sessions/{session_id}/curves', { params: { path: { session_id: id } } }),
    ),
  );

export const comparedCurvesQuery = (ids: string[]) =>
  queryOptions({
    queryKey: ['compared-curves', ids],
    queryFn: () =>
      unwrap(api.GET('/api/v1/jobs/compare/curves', { params: { query: { id: ids } } })),
    enabled: ids.length > 0,
    staleTime: EVERY_MS,
  });

type Times = Pick<Job, 'state' | 'ended_at'>;

/** The curves of a job or session, read again while they may change. */
export const useCurves = (job: Times, query: ReturnType<typeof jobCurvesQuery>) =>
  useQuery({
    ...query,
    refetchInterval: ({ state }) => curvesInterval([job], state.data && [state.data], Date.now()),
  });

/** Return the interval of requests for these jobs, which is longer if the files take long to read; false
 * once all values are known. */
export function curvesInterval(
  jobs: readonly Times[],
  answers: readonly Pick<JobCurves, 'refresh_s'>[] | undefined,
  nowMs: number,
): number | false {
  const mayChange = ({ state, ended_at }: Times): boolean =>
    state !== 'ended' || (ended_at !== null && nowMs - Date.parse(ended_at) < SETTLES_MS);
  if (!jobs.some(mayChange)) return false;
  return Math.max(EVERY_MS, ...(answers ?? []).map(({ refresh_s }) => refresh_s * 1000));
}
