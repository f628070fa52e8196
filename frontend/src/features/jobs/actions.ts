/** What a job's owner can do to it. Each resolves when the portal has agreed. */
import { api, unwrap } from '@/api/client';
import type { JobDetail, JobRequest } from '@/api/types';
import { sendOnce } from '@/lib/idempotency';
import { queryClient } from '@/lib/queries';
import { live } from '@/live/store';
import { jobQuery } from './queries';

function answered(job: JobDetail): JobDetail {
  queryClient.setQueryData(jobQuery(job.id).queryKey, job);
  live.jobAnswered(job);
  return job;
}

async function sendJob(body: JobRequest, key: string): Promise<JobDetail> {
  const header = { 'idempotency-key': key };
  return answered(await unwrap(api.POST('/api/v1/jobs', { params: { header }, body })));
}

export function submitJob(body: JobRequest): Promise<JobDetail> {
  return sendOnce(['job', body], () => body, sendJob);
}

const at = (id: string) => ({ params: { path: { batch_job_id: id } } });

export async function cancelJob(id: string): Promise<void> {
  answered(await unwrap(api.POST('/api/v1/jobs/{batch_job_id}/cancel', at(id))));
}

export async function removeJob(id: string): Promise<void> {
  await unwrap(api.DELETE('/api/v1/jobs/{batch_job_id}', at(id)));
  live.jobRemoved(id);
}

export async function stopJobTensorboard(id: string): Promise<void> {
  await unwrap(api.DELETE('/api/v1/jobs/{batch_job_id}/tensorboard', at(id)));
}
