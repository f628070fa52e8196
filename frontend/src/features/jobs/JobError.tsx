import { Suspense } from 'react';
import type { Job } from '@/api/types';
import { lazyPart } from '@/ui/lazyPart';

const ErrorLine = lazyPart(async () => (await import('@/features/log/ErrorLine')).ErrorLine);

/** The error in a failed job's log, for lists: they load the log's code when it is opened. */
export function JobError({ job }: { job: Job }) {
  return (
    <Suspense fallback={null}>
      <ErrorLine source={{ kind: 'jobs', id: job.id }} endedAt={job.ended_at} />
    </Suspense>
  );
}
