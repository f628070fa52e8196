/** The names of a user. Pure. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];
type PersonRow = Schemas['PersonRow'];

/** The login name; a deleted user's name was released, so their former name is shown. */
export const loginOf = (row: Pick<PersonRow, 'username' | 'former_username'>): string =>
  row.former_username ?? row.username;

export const nameOf = (
  person: Pick<PersonRow, 'display_name' | 'username' | 'former_username'>,
): string => person.display_name || loginOf(person);
