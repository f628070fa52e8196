/** Administrators' actions on users. Each may be refused with `password-required`: call them
 * through `useWithPassword`. */
import { api, unwrap } from '@/api/client';
import { USERS_KEY } from '@/features/directory/queries';
import { queryClient } from '@/lib/queries';
import type { Changes } from './edit';
import { userQuery } from './queries';
import type { NewUser, OneTimePassword, User } from './types';

const pathOf = (username: string) => ({ params: { path: { username } } });

/** Update the cached queries with the user that the portal returned. */
function updateCache(user: User): User {
  queryClient.setQueryData(userQuery(user.username).queryKey, user);
  void queryClient.invalidateQueries({ queryKey: USERS_KEY });
  return user;
}

export async function createUser(
  body: NewUser,
): Promise<{ user: User; password: OneTimePassword }> {
  const created = await unwrap(api.POST('/api/v1/admin/users', { body }));
  updateCache(created.user);
  return created;
}

export const editUser = async (
  username: string,
  changes: Changes,
  version: string,
): Promise<User> =>
  updateCache(
    await unwrap(
      api.PATCH('/api/v1/admin/users/{username}', {
        ...pathOf(username),
        body: { ...changes, version },
      }),
    ),
  );

export const lockUser = async (username: string): Promise<User> =>
  updateCache(await unwrap(api.POST('/api/v1/admin/users/{username}/lock', pathOf(username))));

export const unlockUser = async (username: string): Promise<User> =>
  updateCache(await unwrap(api.POST('/api/v1/admin/users/{username}/unlock', pathOf(username))));

export async function resetPassword(username: string): Promise<OneTimePassword> {
  const password = await unwrap(
    api.POST('/api/v1/admin/users/{username}/password', pathOf(username)),
  );
  void queryClient.invalidateQueries(userQuery(username));
  return password;
}

export const disableUser = async (
  username: string,
  body: { why: string; jobs: 'cancel' | 'leave' },
): Promise<User> =>
  updateCache(
    await unwrap(api.POST('/api/v1/admin/users/{username}/disable', { ...pathOf(username), body })),
  );

export const enableUser = async (username: string): Promise<User> =>
  updateCache(await unwrap(api.POST('/api/v1/admin/users/{username}/enable', pathOf(username))));

export const deleteUser = async (
  username: string,
  body: { files: 'keep' | 'archive' | 'delete'; jobs: 'cancel' | 'leave'; confirm: string },
): Promise<User> =>
  updateCache(
    await unwrap(api.DELETE('/api/v1/admin/users/{username}', { ...pathOf(username), body })),
  );

/** Accept a uid: the user who has it in the directory is the one who had the name before. */
export const acceptUid = async (username: string, uid: number): Promise<User> =>
  updateCache(
    await unwrap(
      api.PUT('/api/v1/admin/users/{username}/number', { ...pathOf(username), body: { uid } }),
    ),
  );

export async function resetSecondFactor(username: string): Promise<void> {
  await unwrap(api.POST('/api/v1/admin/users/{username}/second-factor/reset', pathOf(username)));
  await queryClient.invalidateQueries(userQuery(username));
}

export const makeHome = async (username: string): Promise<User> =>
  updateCache(
    await unwrap(
      api.POST('/api/v1/admin/users/{username}/home', {
        ...pathOf(username),
        body: { task: 'create' },
      }),
    ),
  );

/** Grant a role; null revokes it. A role from the directory stays. */
export const grantRole = async (username: string, role: 'admin' | 'viewer' | null): Promise<User> =>
  updateCache(
    role === null
      ? await unwrap(api.DELETE('/api/v1/admin/users/{username}/role', pathOf(username)))
      : await unwrap(
          api.PUT('/api/v1/admin/users/{username}/role', { ...pathOf(username), body: { role } }),
        ),
  );

const inGroup = (username: string, name: string) => ({ params: { path: { username, name } } });

export const addToGroup = async (username: string, name: string): Promise<User> =>
  updateCache(
    await unwrap(api.PUT('/api/v1/admin/users/{username}/groups/{name}', inGroup(username, name))),
  );

export const removeFromGroup = async (username: string, name: string): Promise<User> =>
  updateCache(
    await unwrap(
      api.DELETE('/api/v1/admin/users/{username}/groups/{name}', inGroup(username, name)),
    ),
  );

/** Add a user to one of Slurm's accounts, beside those they have. */
export const addAccount = async (username: string, account: string): Promise<User> =>
  updateCache(
    await unwrap(
      api.PUT('/api/v1/admin/users/{username}/accounts/{account}', {
        params: { path: { username, account } },
      }),
    ),
  );
