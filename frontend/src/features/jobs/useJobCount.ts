import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { useLive } from '@/live/store';
import { JOBS_KEY, jobCountQuery } from './queries';
import type { JobsSearch } from './search';

/** How many jobs the filters let through, by the portal: the stream has only the newest of many.
 * Undefined until it is known. It changes with the jobs' states, too. */
export function useJobCount(search: JobsSearch): number | undefined {
  const client = useQueryClient();
  const live = useLive((s) => s.jobs);
  const states = useMemo(() => live?.map(({ id, state }) => id + state).join(), [live]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of a state may change it
  useEffect(() => {
    if (search.state) void client.invalidateQueries({ queryKey: [...JOBS_KEY, 'count'] });
  }, [states, client, search.state]);
  return useQuery(jobCountQuery(search)).data;
}
