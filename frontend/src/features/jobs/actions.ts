/** A job owner's actions, and which of them its state allows. Each resolves once the portal has
 * accepted it. */
import { api, unwrap } from '@/api/client';
import type { Job, JobDetail, JobRequest } from '@/api/types';
import { sendOnce } from '@/lib/idempotency';
import { queryClient } from '@/lib/queries';
import { isLive } from '@/live/reducer';
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

/** `typed` is the request as the form has it, with or without the portal's completion. */
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
    runAgain: !job.external && !isLive(job),
    cancel: isLive(job) && job.state !== 'stopping',
    remove: !isLive(job),
  };
}
