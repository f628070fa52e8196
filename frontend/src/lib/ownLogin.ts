/**
 * The login made by this browser's own pages. Cookies are shared by all ports of a host, so a page
 * of a notebook or a TensorBoard on another port can replace the portal's; localStorage is not
 * shared.
 */
const KEY = 'portal-login-id';

/** Remember a login that was made on one of these pages. */
export function rememberLogin(id: string): void {
  try {
    window.localStorage.setItem(KEY, id);
  } catch {
    // without storage the next check cannot decide, and passes
  }
}

/** Return whether the cookie's login was made here; true if the browser has no storage. */
export function isOwnLogin(id: string | null): boolean {
  try {
    return window.localStorage.getItem(KEY) === id;
  } catch {
    return true;
  }
}
