/** Queries of the pages about users. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { USERS_KEY } from '@/features/directory/queries';
import type { Filter } from './filters';
import { isActiveRun, isDeprovisioning } from './labels';
import type { User } from './types';

export interface UsersSearch {
  state: Filter;
  text: string;
}

export const usersQuery = ({ state, text }: UsersSearch) =>
  infiniteQueryOptions({
    queryKey: [...USERS_KEY, state, text],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET('/api/v1/admin/users', {
          params: { query: { state, query: text, cursor: pageParam } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    staleTime: 0,
  });

const SOON_MS = 1000;
/** Slurm takes seconds to set up a user's account; until then the session check is unknown. */
const SLURM_MS = 3000;
const NOW_AND_THEN_MS = 10_000;

/** Return the polling interval: short while a change of the user is in progress. */
function followMs(user: User | undefined): number {
  if (user === undefined) return NOW_AND_THEN_MS;
  const waitsForSlurm = user.readiness.session.answer === 'unknown' && !user.directory_problem;
  const busy = isDeprovisioning(user) || user.home_runs.some(isActiveRun);
  if (busy) return SOON_MS;
  return waitsForSlurm ? SLURM_MS : NOW_AND_THEN_MS;
}

export const userQuery = (username: string) =>
  queryOptions({
    queryKey: ['admin', 'user', username],
    queryFn: () =>
      unwrap(api.GET('/api/v1/admin/users/{username}', { params: { path: { username } } })),
    refetchInterval: ({ state }) => (state.status === 'error' ? false : followMs(state.data)),
    staleTime: 0,
  });

export const newUserQuery = queryOptions({
  queryKey: ['admin', 'new-user'],
  queryFn: () => unwrap(api.GET('/api/v1/admin/new-user')),
  staleTime: 0,
});
