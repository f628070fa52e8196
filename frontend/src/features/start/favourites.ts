/** One's favourite environments, kept by the portal for every browser one uses. */
import { useQuery } from '@tanstack/react-query';
import { preferencesQuery, useChoose } from '@/features/account/preferences';

interface Favourites {
  names: readonly string[];
  toggle: (name: string) => void;
}

export function useFavourites(): Favourites {
  const { data } = useQuery(preferencesQuery);
  const names = data?.favourite_environments ?? [];
  const { mutate } = useChoose();
  const toggle = (name: string): void =>
    mutate({
      favourite_environments: names.includes(name)
        ? names.filter((n) => n !== name)
        : [...names, name],
    });
  return { names, toggle };
}
