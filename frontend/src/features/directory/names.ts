/** The names of a user. Pure. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];
type UserRow = Schemas['UserRow'];

/** Return the login name. A deleted user's name was released, so return their former one. */
export const loginOf = (row: Pick<UserRow, 'username' | 'former_username'>): string =>
  row.former_username ?? row.username;

export const displayNameOf = (
  user: Pick<UserRow, 'display_name' | 'username' | 'former_username'>,
): string => user.display_name || loginOf(user);
