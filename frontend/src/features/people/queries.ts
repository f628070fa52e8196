/** What these pages ask the portal about people. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { PEOPLE_KEY } from '@/features/directory/queries';
import type { Filter } from './filters';
import { isDeprovisioning, isLiveRun } from './labels';
import type { Person } from './types';

export interface PeopleSearch {
  state: Filter;
  text: string;
}

export const peopleQuery = ({ state, text }: PeopleSearch) =>
  infiniteQueryOptions({
    queryKey: [...PEOPLE_KEY, state, text],
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
/** Slurm makes an association within seconds. */
const SLURM_MS = 3000;
const NOW_AND_THEN_MS = 10_000;

/** Followed closely while something of them is under way. */
function followMs(person: Person | undefined): number {
  if (person === undefined) return NOW_AND_THEN_MS;
  const fresh = person.readiness.session.answer === 'unknown' && !person.directory_problem;
  const busy = isDeprovisioning(person) || person.home_runs.some(isLiveRun);
  if (busy) return SOON_MS;
  return fresh ? SLURM_MS : NOW_AND_THEN_MS;
}

export const personQuery = (username: string) =>
  queryOptions({
    queryKey: ['admin', 'person', username],
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
