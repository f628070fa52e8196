/**
 * The username typed at the login, stored while the page reloads in another language. Never the
 * password. Pure but for the given storage.
 */

type NameStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

const KEY = 'portal-login-name';

export function storeTypedName(storage: NameStorage | null, name: string): void {
  try {
    if (name !== '') storage?.setItem(KEY, name);
  } catch {
    // storage is full: the user types it again
  }
}

/** Return and remove the stored name. */
export function takeTypedName(storage: NameStorage | null): string {
  const name = storage?.getItem(KEY) ?? '';
  storage?.removeItem(KEY);
  return name;
}
