/** Actions of a job's owner, and which of them the job's state allows. Each promise resolves once the
 * portal has accepted the request. */
import { api, unwrap } from '@/api/client';
import type { Job, JobDetail, JobRequest } from '@/api/types';
import { sendOnce } from '@/lib/idempotency';
import { queryClient } from '@/lib/queries';
import { isActive } from '@/live/reducer';
import { liveStore } from '@/live/store';
import { jobQuery } from './queries';

function updateCache(job: JobDetail): JobDetail {
  queryClient.setQueryData(jobQuery(job.id).queryKey, job);
  liveStore.jobAnswered(job);
  return job;
}

async function sendJob(body: JobRequest, key: string): Promise<JobDetail> {
  const header = { 'idempotency-key': key };
  return updateCache(await unwrap(api.POST('/api/v1/jobs', { params: { header }, body })));
}

/** Submit a job. `explicit` is the request with only the user's own resources; it identifies the
 * request: a second attempt with the same one submits no second job. */
export function submitJob(body: JobRequest, explicit: JobRequest): Promise<JobDetail> {
  return sendOnce(['job', explicit], () => body, sendJob);
}

const pathOf = (id: string) => ({ params: { path: { batch_job_id: id } } });

export async function cancelJob(id: string): Promise<void> {
  updateCache(await unwrap(api.POST('/api/v1/jobs/{batch_job_id}/cancel', pathOf(id))));
}

export async function removeJob(id: string): Promise<void> {
  await unwrap(api.DELETE('/api/v1/jobs/{batch_job_id}', pathOf(id)));
  liveStore.jobRemoved(id);
}

export async function stopJobTensorboard(id: string): Promise<void> {
  await unwrap(api.DELETE('/api/v1/jobs/{batch_job_id}/tensorboard', pathOf(id)));
}

export interface AllowedActions {
  log: boolean;
  tensorboard: boolean;
  runAgain: boolean;
  cancel: boolean;
  remove: boolean;
}

/** Return which actions a job's state allows. */
export function allowedActions(job: Job): AllowedActions {
  const hasStarted = job.started_at !== null;
  return {
    log: hasStarted,
    // The log folder of a job submitted elsewhere is unknown: the job's page asks its owner.
    tensorboard: hasStarted && (job.logdir !== null || job.tensorboard !== null),
    runAgain: !job.external && !isActive(job),
    cancel: isActive(job) && job.state !== 'stopping',
    remove: !isActive(job),
  };
}
