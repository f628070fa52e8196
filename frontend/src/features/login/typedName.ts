/**
 * The username typed at the login, stored while the page reloads in another language. Never the
 * password. Pure but for the given storage.
 */

type Keeper = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

const KEY = 'portal-login-name';

export function keepName(storage: Keeper | null, name: string): void {
  try {
    if (name !== '') storage?.setItem(KEY, name);
  } catch {
    // storage is full: the user types it again
  }
}

/** Return and remove the stored name. */
export function takeName(storage: Keeper | null): string {
  const name = storage?.getItem(KEY) ?? '';
  storage?.removeItem(KEY);
  return name;
}
