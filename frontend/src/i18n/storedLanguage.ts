/**
 * This browser's storage of the chosen language. The portal stores it too (`preferences.language`),
 * for each user; a browser may have several users.
 */
import { isLanguage, type Language } from './language';

type Place = 'localStorage' | 'sessionStorage';

/** The language of this browser, until the user logs out. */
const LANGUAGE_KEY = 'portal-language';
/** The choice made in this tab before the login; sent to the portal afterwards. */
const BEFORE_LOGIN_KEY = 'portal-language-before-login';
const PROBE_KEY = 'portal-language-probe';

function read(storage: Place, key: string): Language | null {
  try {
    const value = window[storage].getItem(key);
    return isLanguage(value) ? value : null;
  } catch {
    return null; // storage is disabled
  }
}

/** Store or remove a value; return whether that succeeded. */
function write(storage: Place, key: string, language: Language | null): boolean {
  try {
    if (language === null) window[storage].removeItem(key);
    else window[storage].setItem(key, language);
    return true;
  } catch {
    return false; // storage is disabled or full
  }
}

export const storedLanguage = (): Language | null => read('localStorage', LANGUAGE_KEY);

/** Store the language; `null` is the browser's. */
export const storeLanguage = (language: Language | null): boolean =>
  write('localStorage', LANGUAGE_KEY, language);

export const languageBeforeLogin = (): Language | null => read('sessionStorage', BEFORE_LOGIN_KEY);

export const storeLanguageBeforeLogin = (language: Language | null): boolean =>
  write('sessionStorage', BEFORE_LOGIN_KEY, language);

/** Return whether choices can be stored. Without storage the browser's own language stays. */
export const canStoreLanguage = (): boolean =>
  write('localStorage', PROBE_KEY, 'en') && write('localStorage', PROBE_KEY, null);

/** Remove the choices of the user who logged out. */
export function forgetLanguage(): void {
  storeLanguage(null);
  storeLanguageBeforeLogin(null);
}
