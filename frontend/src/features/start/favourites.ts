/** One's favourite environments, kept by the portal for every browser one uses. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { queryClient } from '@/app/queries';
import { choose, preferencesQuery } from '@/features/account/preferences';
import { complain } from '@/ui/complain';

interface Favourites {
  names: readonly string[];
  toggle: (name: string) => void;
}

/** Shown at once; taken back, with a word, if the portal refuses. */
export function useFavourites(): Favourites {
  const { data } = useQuery(preferencesQuery);
  const names = data?.favourite_environments ?? [];
  const { mutate } = useMutation({
    mutationFn: (favourite_environments: string[]) => choose({ favourite_environments }),
    scope: { id: 'preferences' },
    onMutate: async (favourite_environments) => {
      await queryClient.cancelQueries(preferencesQuery);
      const before = queryClient.getQueryData(preferencesQuery.queryKey);
      if (before)
        queryClient.setQueryData(preferencesQuery.queryKey, { ...before, favourite_environments });
      return before;
    },
    onError: (error, _names, before) => {
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, before);
      complain(error);
    },
  });
  const toggle = (name: string): void =>
    mutate(names.includes(name) ? names.filter((n) => n !== name) : [...names, name]);
  return { names, toggle };
}
