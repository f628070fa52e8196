/** What these pages ask the portal about people. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { Filter } from './filters';
import type { Person } from './shapes';
import { isClosing, isLiveRun } from './words';

export interface PeopleSearch {
  state: Filter;
  text: string;
}

export const PEOPLE_KEY = ['admin', 'people'] as const;

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
const NOW_AND_THEN_MS = 10_000;

/** Followed closely while something of them is under way. */
function followMs(person: Person | undefined): number {
  if (person === undefined) return NOW_AND_THEN_MS;
  const busy = isClosing(person) || person.home_runs.some(isLiveRun);
  return busy ? SOON_MS : NOW_AND_THEN_MS;
}

export const personQuery = (username: string) =>
  queryOptions({
    queryKey: ['admin', 'person', username],
    queryFn: () =>
      unwrap(api.GET('/api/v1/admin/users/{username}', { params: { path: { username } } })),
    refetchInterval: ({ state }) => (state.status === 'error' ? false : followMs(state.data)),
    staleTime: 0,
  });

const MOST_FOUND = 20;

/** For a field that searches: a handful of people. */
export const peopleFoundQuery = (text: string) =>
  queryOptions({
    queryKey: [...PEOPLE_KEY, 'found', text],
    queryFn: async () =>
      (
        await unwrap(
          api.GET('/api/v1/admin/users', { params: { query: { query: text, limit: MOST_FOUND } } }),
        )
      ).items,
  });
