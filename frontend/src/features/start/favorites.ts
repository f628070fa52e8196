/** The user's favorite environments, a preference that the portal stores. */
import { useQuery } from '@tanstack/react-query';
import { preferencesQuery, useSavePreferences } from '@/features/preferences/preferences';

interface Favorites {
  names: readonly string[];
  toggle: (name: string) => void;
}

export function useFavorites(): Favorites {
  const { data } = useQuery(preferencesQuery);
  const names = data?.favourite_environments ?? [];
  const { mutate } = useSavePreferences();
  const toggle = (name: string): void =>
    mutate({
      favourite_environments: names.includes(name)
        ? names.filter((n) => n !== name)
        : [...names, name],
    });
  return { names, toggle };
}
