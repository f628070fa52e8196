/** The user's preferences, stored by the portal for all browsers. */
import { queryOptions, useMutation } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { Preferences, PreferencesChange } from '@/api/types';
import { queryClient } from '@/lib/queries';
import { showError } from '@/ui/showError';

export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: () => unwrap(api.GET('/api/v1/me/preferences')),
});

/** A change of some fields; absent ones stay as they are. */
type Patch<T> = { [Field in keyof T]?: T[Field] extends object ? Patch<T[Field]> : T[Field] };

/** Save a patch and update the cache. In the generated type, fields with defaults are required. */
async function savePreferences(patch: Patch<Preferences>): Promise<void> {
  const body = patch as PreferencesChange;
  const saved = await unwrap(api.PATCH('/api/v1/me/preferences', { body }));
  queryClient.setQueryData(preferencesQuery.queryKey, saved);
}

const isGroup = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Apply a patch to the preferences; lists are replaced, never joined. */
export function withPatch<T extends object>(current: T, patch: Patch<NoInfer<T>>): T {
  const next = { ...current };
  for (const field of Object.keys(patch) as (keyof T)[]) {
    const value: unknown = patch[field];
    const before = current[field];
    if (value !== undefined)
      next[field] = (
        isGroup(before) && isGroup(value) ? withPatch(before, value) : value
      ) as T[keyof T];
  }
  return next;
}

/** Saves a patch: shown at once, reverted with a message if the portal refuses it. */
export const useSavePreferences = () =>
  useMutation({
    mutationFn: savePreferences,
    // one after the other, so that the last response is the newest
    scope: { id: 'preferences' },
    onMutate: async (patch) => {
      await queryClient.cancelQueries(preferencesQuery);
      const before = queryClient.getQueryData(preferencesQuery.queryKey);
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, withPatch(before, patch));
      return before;
    },
    onError: (error, _patch, before) => {
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, before);
      showError(error);
    },
  });
