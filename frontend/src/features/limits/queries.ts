import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { LimitSet } from '@/api/types';
import { queryClient } from '@/lib/queries';
import type { LimitSource, Values } from './types';

/** Limits reach Slurm within seconds; usage changes all the time. */
const REFRESH_MS = 10_000;

export const limitsQuery = queryOptions({
  queryKey: ['admin', 'limits'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/admin/limits'))).items,
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

export const userLimitsQuery = (username: string) =>
  queryOptions({
    queryKey: ['admin', 'limits', 'user', username],
    queryFn: () =>
      unwrap(api.GET('/api/v1/admin/users/{username}/limits', { params: { path: { username } } })),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });

/** Names that fields can have. */
export const limitChoicesQuery = queryOptions({
  queryKey: ['admin', 'limits', 'choices'],
  queryFn: () => unwrap(api.GET('/api/v1/admin/limits/choices')),
  staleTime: 30_000,
});

export const driftQuery = queryOptions({
  queryKey: ['admin', 'drift'],
  queryFn: () => unwrap(api.GET('/api/v1/admin/drift')),
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

export const myLimitsQuery = queryOptions({
  queryKey: ['my-limits'],
  queryFn: () => unwrap(api.GET('/api/v1/me/limits')),
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

export const groupLimitsQuery = (group: string) =>
  queryOptions({
    queryKey: ['group-limits', group],
    queryFn: () =>
      unwrap(api.GET('/api/v1/groups/{group}/limits', { params: { path: { group } } })),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });

/** Everything that a changed limit may change. */
export async function limitsChanged(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['admin', 'limits'] }),
    queryClient.invalidateQueries({ queryKey: ['group-limits'] }),
    queryClient.invalidateQueries(driftQuery),
    queryClient.invalidateQueries(myLimitsQuery),
  ]);
}

/** `version` of what was read; null where nothing was written down yet. `createAccount`: for a group
 * together, make Slurm's account of it where there is none. */
export async function saveLimit(
  whose: LimitSource,
  values: Values,
  version: number | null,
  createAccount: boolean,
): Promise<LimitSet> {
  const body = { ...values, version, create_account: createAccount };
  const saved =
    whose.scope === 'default'
      ? await unwrap(api.PUT('/api/v1/admin/limits/default', { body }))
      : await unwrap(
          api.PUT('/api/v1/admin/limits/{scope}/{name}', {
            params: { path: { scope: whose.scope, name: whose.name } },
            body,
          }),
        );
  await limitsChanged();
  return saved;
}

/** `version` is that of the limit as seen; a newer version is not overwritten. */
export async function removeLimit(whose: LimitSource, version: number): Promise<void> {
  const query = { version };
  if (whose.scope === 'default')
    await unwrap(api.DELETE('/api/v1/admin/limits/default', { params: { query } }));
  else
    await unwrap(
      api.DELETE('/api/v1/admin/limits/{scope}/{name}', {
        params: { path: { scope: whose.scope, name: whose.name }, query },
      }),
    );
  await limitsChanged();
}

export async function saveMemberLimit(
  group: string,
  username: string,
  values: Values,
  version: number | null,
): Promise<LimitSet> {
  const saved = await unwrap(
    api.PUT('/api/v1/groups/{group}/limits/{username}', {
      params: { path: { group, username } },
      body: { ...values, version, create_account: false },
    }),
  );
  await limitsChanged();
  return saved;
}

export async function settleDrift(id: string, how: 'mend' | 'accept'): Promise<void> {
  const params = { path: { drift_id: id } };
  if (how === 'mend') await unwrap(api.POST('/api/v1/admin/drift/{drift_id}/mend', { params }));
  else await unwrap(api.POST('/api/v1/admin/drift/{drift_id}/accept', { params }));
  await limitsChanged();
}
