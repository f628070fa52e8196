/** What one has chosen for oneself, kept by the portal for every browser one uses. */
import { queryOptions, useMutation } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { Preferences, PreferencesChange } from '@/api/types';
import { queryClient } from '@/lib/queries';
import { showError } from '@/ui/showError';

export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: () => unwrap(api.GET('/api/v1/me/preferences')),
});

/** What is absent stays as it is. */
type Patch<T> = { [Field in keyof T]?: T[Field] extends object ? Patch<T[Field]> : T[Field] };

/** Has the portal keep it, and every page know it. The generated type takes defaults for fields that
 * must be there. */
async function savePreferences(patch: Patch<Preferences>): Promise<void> {
  const body = patch as PreferencesChange;
  const kept = await unwrap(api.PATCH('/api/v1/me/preferences', { body }));
  queryClient.setQueryData(preferencesQuery.queryKey, kept);
}

const isGroup = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Apply a patch to the preferences; lists are replaced, never joined. */
export function withPatch<T extends object>(kept: T, patch: Patch<NoInfer<T>>): T {
  const next = { ...kept };
  for (const field of Object.keys(patch) as (keyof T)[]) {
    const value: unknown = patch[field];
    const before = kept[field];
    if (value !== undefined)
      next[field] = (
        isGroup(before) && isGroup(value) ? withPatch(before, value) : value
      ) as T[keyof T];
  }
  return next;
}

/** Chooses: shown at once, and taken back, with a word, if the portal refuses. */
export const useSavePreferences = () =>
  useMutation({
    mutationFn: savePreferences,
    // one after the other, so that the last answer is the newest
    scope: { id: 'preferences' },
    onMutate: async (patch) => {
      await queryClient.cancelQueries(preferencesQuery);
      const before = queryClient.getQueryData(preferencesQuery.queryKey);
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, withPatch(before, patch));
      return before;
    },
    onError: (refusal, _patch, before) => {
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, before);
      showError(refusal);
    },
  });
