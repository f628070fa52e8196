/** One's favourite environments, kept by the portal for every browser one uses. */
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { PreferencesChange } from '@/api/types';
import { queryClient } from '@/app/queries';
import { complain } from '@/ui/complain';

export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: () => unwrap(api.GET('/api/v1/me/preferences')),
});

/** What is absent stays as it is; the generated type takes defaults for fields that must be there. */
const only = (favourite_environments: string[]): PreferencesChange =>
  ({ favourite_environments }) as PreferencesChange;

interface Favourites {
  names: readonly string[];
  toggle: (name: string) => void;
}

/** Shown at once; taken back, with a word, if the portal refuses. */
export function useFavourites(): Favourites {
  const { data } = useQuery(preferencesQuery);
  const names = data?.favourite_environments ?? [];
  const { mutate } = useMutation({
    mutationFn: (favourite_environments: string[]) =>
      unwrap(api.PATCH('/api/v1/me/preferences', { body: only(favourite_environments) })),
    onMutate: async (favourite_environments) => {
      await queryClient.cancelQueries(preferencesQuery);
      const before = queryClient.getQueryData(preferencesQuery.queryKey);
      if (before)
        queryClient.setQueryData(preferencesQuery.queryKey, { ...before, favourite_environments });
      return before;
    },
    onSuccess: (kept) => queryClient.setQueryData(preferencesQuery.queryKey, kept),
    onError: (error, _names, before) => {
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, before);
      complain(error);
    },
  });
  const toggle = (name: string): void =>
    mutate(names.includes(name) ? names.filter((n) => n !== name) : [...names, name]);
  return { names, toggle };
}
