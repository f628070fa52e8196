/** Imports of users: start, progress, and their passwords. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { USERS_KEY } from '@/features/directory/queries';
import { queryClient } from '@/lib/queries';
import type { FirstPassword, UserImport } from './types';

const FOLLOW_MS = 1000;

export const importQuery = (id: string) =>
  queryOptions({
    queryKey: ['admin', 'user-import', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/admin/users/imports/{import_id}', { params: { path: { import_id: id } } }),
      ),
    refetchInterval: ({ state }) =>
      state.status !== 'error' && state.data?.state === 'running' ? FOLLOW_MS : false,
    staleTime: FOLLOW_MS,
  });

/** Start an import; a dry run reports the result without creating users. */
export async function startImport(csv: string, dryRun: boolean): Promise<UserImport> {
  const body = { csv, dry_run: dryRun };
  const started = await unwrap(api.POST('/api/v1/admin/users/import', { body }));
  queryClient.setQueryData(importQuery(started.id).queryKey, started);
  if (!dryRun) void queryClient.invalidateQueries({ queryKey: USERS_KEY });
  return started;
}

/** Fetch the passwords. The portal returns them only once. */
export async function takePasswords(id: string): Promise<FirstPassword[]> {
  const params = { path: { import_id: id } };
  const taken = await unwrap(
    api.POST('/api/v1/admin/users/imports/{import_id}/passwords', { params }),
  );
  void queryClient.invalidateQueries(importQuery(id));
  return taken.items;
}
