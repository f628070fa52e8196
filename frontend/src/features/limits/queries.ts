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

/** Suggestions for the fields that are lists of names. */
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

/** Reload all queries that a changed limit affects. */
export async function limitsChanged(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['admin', 'limits'] }),
    queryClient.invalidateQueries({ queryKey: ['group-limits'] }),
    queryClient.invalidateQueries(driftQuery),
    queryClient.invalidateQueries(myLimitsQuery),
  ]);
}

/** Save a limit. `version` is that of the limit as read; null for a new limit. `createAccount`: for a
 * group total, create the group's Slurm account if there is none. */
export async function saveLimit(
  source: LimitSource,
  values: Values,
  version: number | null,
  createAccount: boolean,
): Promise<LimitSet> {
  const body = { ...values, version, create_account: createAccount };
  const saved =
    source.scope === 'default'
      ? await unwrap(api.PUT('/api/v1/admin/limits/default', { body }))
      : await unwrap(
          api.PUT('/api/v1/admin/limits/{scope}/{name}', {
            params: { path: { scope: source.scope, name: source.name } },
            body,
          }),
        );
  await limitsChanged();
  return saved;
}

/** Delete a limit. `version` is that of the limit as read; a newer version is not deleted. */
export async function removeLimit(source: LimitSource, version: number): Promise<void> {
  const query = { version };
  if (source.scope === 'default')
    await unwrap(api.DELETE('/api/v1/admin/limits/default', { params: { query } }));
  else
    await unwrap(
      api.DELETE('/api/v1/admin/limits/{scope}/{name}', {
        params: { path: { scope: source.scope, name: source.name }, query },
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

export async function settleDrift(id: string, decision: 'mend' | 'accept'): Promise<void> {
  const params = { path: { drift_id: id } };
  if (decision === 'mend')
    await unwrap(api.POST('/api/v1/admin/drift/{drift_id}/mend', { params }));
  else await unwrap(api.POST('/api/v1/admin/drift/{drift_id}/accept', { params }));
  await limitsChanged();
}
