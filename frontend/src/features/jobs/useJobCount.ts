import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useThrottledChange } from '@/lib/useThrottledChange';
import { useLive } from '@/live/store';
import { COUNTS_KEY, jobCountsQuery } from './queries';
import { countMatching, type JobsSearch } from './search';

export type CountsByState = Readonly<Record<string, number>>;

/** The number of jobs by state, or by outcome if ended, that match the other filters. From the
 * portal: the stream only has the newest jobs. Undefined until it is known. Refetched when a job's
 * state changes, less often while many do. */
export function useJobCounts(search: JobsSearch): CountsByState | undefined {
  const client = useQueryClient();
  const streamedJobs = useLive((s) => s.jobs);
  const states = useMemo(
    () => streamedJobs?.map(({ id, state }) => id + state).join(),
    [streamedJobs],
  );
  const recount = useCallback(() => client.invalidateQueries({ queryKey: COUNTS_KEY }), [client]);
  useThrottledChange(states, recount);
  return useQuery(jobCountsQuery(search)).data;
}

/** The number of jobs that match the filters; undefined until it is known. */
export function useJobCount(search: JobsSearch): number | undefined {
  const counts = useJobCounts(search);
  return counts && countMatching(counts, search.state);
}
