/** The user name typed at the login, over a page that is loaded anew for another language. Never the
 * password. Pure but for the storage it is given. */

type Keeper = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

const KEY = 'portal-login-name';

export function keepName(storage: Keeper | null, name: string): void {
  try {
    if (name !== '') storage?.setItem(KEY, name);
  } catch {
    // full: it is typed again
  }
}

/** What was kept, which is kept no longer. */
export function takeName(storage: Keeper | null): string {
  const name = storage?.getItem(KEY) ?? '';
  storage?.removeItem(KEY);
  return name;
}
