/** What one has chosen for oneself, kept by the portal for every browser one uses. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { PreferencesChange } from '@/api/types';
import { queryClient } from '@/app/queries';

export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: () => unwrap(api.GET('/api/v1/me/preferences')),
});

/** What is absent stays as it is. */
type Wish<T> = { [Field in keyof T]?: T[Field] extends object ? Wish<T[Field]> : T[Field] };

/** Has the portal keep it, and every page know it. The generated type takes defaults for fields that
 * must be there. */
export async function choose(wish: Wish<PreferencesChange>): Promise<void> {
  const body = wish as PreferencesChange;
  const kept = await unwrap(api.PATCH('/api/v1/me/preferences', { body }));
  queryClient.setQueryData(preferencesQuery.queryKey, kept);
}
