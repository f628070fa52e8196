/** What one has chosen for oneself, kept by the portal for every browser one uses. */
import { queryOptions, useMutation } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { Preferences, PreferencesChange } from '@/api/types';
import { queryClient } from '@/app/queries';
import { complain } from '@/ui/complain';

export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: () => unwrap(api.GET('/api/v1/me/preferences')),
});

/** What is absent stays as it is. */
type Wish<T> = { [Field in keyof T]?: T[Field] extends object ? Wish<T[Field]> : T[Field] };

/** Has the portal keep it, and every page know it. The generated type takes defaults for fields that
 * must be there. */
async function choose(wish: Wish<Preferences>): Promise<void> {
  const body = wish as PreferencesChange;
  const kept = await unwrap(api.PATCH('/api/v1/me/preferences', { body }));
  queryClient.setQueryData(preferencesQuery.queryKey, kept);
}

const isGroup = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How they are once the wish is kept; lists are replaced, never joined. */
export function withWish<T extends object>(kept: T, wish: Wish<NoInfer<T>>): T {
  const next = { ...kept };
  for (const field of Object.keys(wish) as (keyof T)[]) {
    const value: unknown = wish[field];
    const before = kept[field];
    if (value !== undefined)
      next[field] = (
        isGroup(before) && isGroup(value) ? withWish(before, value) : value
      ) as T[keyof T];
  }
  return next;
}

/** Chooses: shown at once, and taken back, with a word, if the portal refuses. */
export const useChoose = () =>
  useMutation({
    mutationFn: choose,
    // one after the other, so that the last answer is the newest
    scope: { id: 'preferences' },
    onMutate: async (wish) => {
      await queryClient.cancelQueries(preferencesQuery);
      const before = queryClient.getQueryData(preferencesQuery.queryKey);
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, withWish(before, wish));
      return before;
    },
    onError: (refusal, _wish, before) => {
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, before);
      complain(refusal);
    },
  });
