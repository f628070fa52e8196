/** Administrators' actions on groups. Call them through `useWithPassword`. */
import { api, unwrap } from '@/api/client';
import { GROUPS_KEY } from '@/features/directory/groups';
import { queryClient } from '@/lib/queries';
import { groupQuery } from './queries';
import type { GroupRequest, WholeGroup } from './types';

const pathOf = (group: string) => ({ params: { path: { group } } });
const pathParams = (group: string, username: string) => ({ params: { path: { group, username } } });

/** Refetch the group, and the users whose pages show their groups. */
async function invalidateGroup(group: string): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: GROUPS_KEY });
  await Promise.all([
    queryClient.invalidateQueries(groupQuery(group)),
    queryClient.invalidateQueries({ queryKey: ['admin', 'user'] }),
  ]);
}

export async function createGroup(body: GroupRequest): Promise<WholeGroup> {
  const group = await unwrap(api.POST('/api/v1/admin/groups', { body }));
  await invalidateGroup(body.name);
  return group;
}

export async function deleteGroup(group: string): Promise<void> {
  await unwrap(api.DELETE('/api/v1/admin/groups/{group}', pathOf(group)));
  await queryClient.invalidateQueries({ queryKey: GROUPS_KEY });
}

export async function setMember(group: string, username: string, isIn: boolean): Promise<void> {
  const path = '/api/v1/admin/groups/{group}/members/{username}';
  await unwrap(
    isIn
      ? api.PUT(path, pathParams(group, username))
      : api.DELETE(path, pathParams(group, username)),
  );
  await invalidateGroup(group);
}

export async function setManager(group: string, username: string, manages: boolean): Promise<void> {
  const path = '/api/v1/admin/groups/{group}/managers/{username}';
  await unwrap(
    manages
      ? api.PUT(path, pathParams(group, username))
      : api.DELETE(path, pathParams(group, username)),
  );
  await invalidateGroup(group);
}
