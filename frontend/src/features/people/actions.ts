/** What administrators do to people. Each is refused with `password-required` from time to time:
 * call them through `useWithPassword`. */
import { api, unwrap } from '@/api/client';
import { PEOPLE_KEY } from '@/features/directory/queries';
import { queryClient } from '@/lib/queries';
import type { Changes } from './edit';
import { personQuery } from './queries';
import type { NewPerson, OneTimePassword, Person } from './types';

const at = (username: string) => ({ params: { path: { username } } });

/** Shows everywhere what the portal has just answered about someone. */
function answered(person: Person): Person {
  queryClient.setQueryData(personQuery(person.username).queryKey, person);
  void queryClient.invalidateQueries({ queryKey: PEOPLE_KEY });
  return person;
}

export async function createPerson(
  body: NewPerson,
): Promise<{ person: Person; password: OneTimePassword }> {
  const made = await unwrap(api.POST('/api/v1/admin/users', { body }));
  answered(made.person);
  return made;
}

export const editPerson = async (
  username: string,
  changes: Changes,
  version: string,
): Promise<Person> =>
  answered(
    await unwrap(
      api.PATCH('/api/v1/admin/users/{username}', {
        ...at(username),
        body: { ...changes, version },
      }),
    ),
  );

export const lockPerson = async (username: string): Promise<Person> =>
  answered(await unwrap(api.POST('/api/v1/admin/users/{username}/lock', at(username))));

export const unlockPerson = async (username: string): Promise<Person> =>
  answered(await unwrap(api.POST('/api/v1/admin/users/{username}/unlock', at(username))));

export async function resetPassword(username: string): Promise<OneTimePassword> {
  const made = await unwrap(api.POST('/api/v1/admin/users/{username}/password', at(username)));
  void queryClient.invalidateQueries(personQuery(username));
  return made;
}

export const disablePerson = async (
  username: string,
  body: { why: string; jobs: 'cancel' | 'leave' },
): Promise<Person> =>
  answered(
    await unwrap(api.POST('/api/v1/admin/users/{username}/disable', { ...at(username), body })),
  );

export const enablePerson = async (username: string): Promise<Person> =>
  answered(await unwrap(api.POST('/api/v1/admin/users/{username}/enable', at(username))));

export const deletePerson = async (
  username: string,
  body: { files: 'keep' | 'archive' | 'delete'; jobs: 'cancel' | 'leave'; confirm: string },
): Promise<Person> =>
  answered(await unwrap(api.DELETE('/api/v1/admin/users/{username}', { ...at(username), body })));

/** Confirm that the user with this uid in the directory is the one who had the name before. */
export const confirmNumber = async (username: string, uid: number): Promise<Person> =>
  answered(
    await unwrap(
      api.PUT('/api/v1/admin/users/{username}/number', { ...at(username), body: { uid } }),
    ),
  );

export async function resetSecondFactor(username: string): Promise<void> {
  await unwrap(api.POST('/api/v1/admin/users/{username}/second-factor/reset', at(username)));
  await queryClient.invalidateQueries(personQuery(username));
}

export const makeHome = async (username: string): Promise<Person> =>
  answered(
    await unwrap(
      api.POST('/api/v1/admin/users/{username}/home', {
        ...at(username),
        body: { task: 'create' },
      }),
    ),
  );

/** null takes a grant away; what the directory gives stays. */
export const grantRole = async (
  username: string,
  role: 'admin' | 'viewer' | null,
): Promise<Person> =>
  answered(
    role === null
      ? await unwrap(api.DELETE('/api/v1/admin/users/{username}/role', at(username)))
      : await unwrap(
          api.PUT('/api/v1/admin/users/{username}/role', { ...at(username), body: { role } }),
        ),
  );

const inGroup = (username: string, name: string) => ({ params: { path: { username, name } } });

export const addToGroup = async (username: string, name: string): Promise<Person> =>
  answered(
    await unwrap(api.PUT('/api/v1/admin/users/{username}/groups/{name}', inGroup(username, name))),
  );

export const removeFromGroup = async (username: string, name: string): Promise<Person> =>
  answered(
    await unwrap(
      api.DELETE('/api/v1/admin/users/{username}/groups/{name}', inGroup(username, name)),
    ),
  );

/** Lets someone submit under one of Slurm's accounts, beside those they have. */
export const giveAccount = async (username: string, account: string): Promise<Person> =>
  answered(
    await unwrap(
      api.PUT('/api/v1/admin/users/{username}/accounts/{account}', {
        params: { path: { username, account } },
      }),
    ),
  );
