/** What administrators do to users. Each is refused with `password-required` from time to time:
 * call them through `useWithPassword`. */
import { api, unwrap } from '@/api/client';
import { USERS_KEY } from '@/features/directory/queries';
import { queryClient } from '@/lib/queries';
import type { Changes } from './edit';
import { userQuery } from './queries';
import type { NewUser, OneTimePassword, User } from './types';

const at = (username: string) => ({ params: { path: { username } } });

/** Shows everywhere what the portal has just answered about someone. */
function answered(user: User): User {
  queryClient.setQueryData(userQuery(user.username).queryKey, user);
  void queryClient.invalidateQueries({ queryKey: USERS_KEY });
  return user;
}

export async function createUser(
  body: NewUser,
): Promise<{ user: User; password: OneTimePassword }> {
  const made = await unwrap(api.POST('/api/v1/admin/users', { body }));
  answered(made.user);
  return made;
}

export const editUser = async (
  username: string,
  changes: Changes,
  version: string,
): Promise<User> =>
  answered(
    await unwrap(
      api.PATCH('/api/v1/admin/users/{username}', {
        ...at(username),
        body: { ...changes, version },
      }),
    ),
  );

export const lockUser = async (username: string): Promise<User> =>
  answered(await unwrap(api.POST('/api/v1/admin/users/{username}/lock', at(username))));

export const unlockUser = async (username: string): Promise<User> =>
  answered(await unwrap(api.POST('/api/v1/admin/users/{username}/unlock', at(username))));

export async function resetPassword(username: string): Promise<OneTimePassword> {
  const made = await unwrap(api.POST('/api/v1/admin/users/{username}/password', at(username)));
  void queryClient.invalidateQueries(userQuery(username));
  return made;
}

export const disableUser = async (
  username: string,
  body: { why: string; jobs: 'cancel' | 'leave' },
): Promise<User> =>
  answered(
    await unwrap(api.POST('/api/v1/admin/users/{username}/disable', { ...at(username), body })),
  );

export const enableUser = async (username: string): Promise<User> =>
  answered(await unwrap(api.POST('/api/v1/admin/users/{username}/enable', at(username))));

export const deleteUser = async (
  username: string,
  body: { files: 'keep' | 'archive' | 'delete'; jobs: 'cancel' | 'leave'; confirm: string },
): Promise<User> =>
  answered(await unwrap(api.DELETE('/api/v1/admin/users/{username}', { ...at(username), body })));

/** Confirm that the user with this uid in the directory is the one who had the name before. */
export const confirmNumber = async (username: string, uid: number): Promise<User> =>
  answered(
    await unwrap(
      api.PUT('/api/v1/admin/users/{username}/number', { ...at(username), body: { uid } }),
    ),
  );

export async function resetSecondFactor(username: string): Promise<void> {
  await unwrap(api.POST('/api/v1/admin/users/{username}/second-factor/reset', at(username)));
  await queryClient.invalidateQueries(userQuery(username));
}

export const makeHome = async (username: string): Promise<User> =>
  answered(
    await unwrap(
      api.POST('/api/v1/admin/users/{username}/home', {
        ...at(username),
        body: { task: 'create' },
      }),
    ),
  );

/** null takes a grant away; what the directory gives stays. */
export const grantRole = async (username: string, role: 'admin' | 'viewer' | null): Promise<User> =>
  answered(
    role === null
      ? await unwrap(api.DELETE('/api/v1/admin/users/{username}/role', at(username)))
      : await unwrap(
          api.PUT('/api/v1/admin/users/{username}/role', { ...at(username), body: { role } }),
        ),
  );

const inGroup = (username: string, name: string) => ({ params: { path: { username, name } } });

export const addToGroup = async (username: string, name: string): Promise<User> =>
  answered(
    await unwrap(api.PUT('/api/v1/admin/users/{username}/groups/{name}', inGroup(username, name))),
  );

export const removeFromGroup = async (username: string, name: string): Promise<User> =>
  answered(
    await unwrap(
      api.DELETE('/api/v1/admin/users/{username}/groups/{name}', inGroup(username, name)),
    ),
  );

/** Lets someone submit under one of Slurm's accounts, beside those they have. */
export const giveAccount = async (username: string, account: string): Promise<User> =>
  answered(
    await unwrap(
      api.PUT('/api/v1/admin/users/{username}/accounts/{account}', {
        params: { path: { username, account } },
      }),
    ),
  );
