import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { JobDetail } from '@/api/types';
import { useStreamedJob } from '@/live/store';
import { jobQuery } from './queries';

/** The interval at which arrays are polled: the stream reports no changes of their tasks and metrics. */
const TASKS_EVERY_MS = 5000;
/** The last metrics may be written until this long after the end. */
const TASKS_SETTLE_MS = 60_000;

function pollInterval(job: JobDetail | undefined): number | false {
  if (!job?.array) return false;
  const settled = job.ended_at !== null && Date.now() - Date.parse(job.ended_at) > TASKS_SETTLE_MS;
  return settled ? false : TASKS_EVERY_MS;
}

/** A job with all its details, kept up to date. */
export function useJob(id: string): {
  job: JobDetail | undefined;
  error: Error | null;
  retry: () => void;
} {
  const client = useQueryClient();
  const streamedJob = useStreamedJob(id);
  const { data, error, refetch } = useQuery({
    ...jobQuery(id),
    refetchInterval: ({ state }) => pollInterval(state.data),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the job is the reason to refetch
  useEffect(() => {
    void client.invalidateQueries({ queryKey: jobQuery(id).queryKey });
  }, [client, id, streamedJob]);
  const retry = (): void => void refetch();
  if (data === undefined) return { job: undefined, error, retry };
  return {
    job: streamedJob ? { ...data, ...streamedJob, array: data.array } : data,
    error: null,
    retry,
  };
}
