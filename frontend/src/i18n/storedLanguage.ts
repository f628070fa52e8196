/**
 * What this browser keeps of the language that its reader has chosen. The portal keeps it too
 * (`preferences.language`), for everybody by themselves; a browser may be several users'.
 */
import { isLanguage, type Language } from './language';

type Place = 'localStorage' | 'sessionStorage';

/** The language of this browser, until the user logs out. */
const LANGUAGE_KEY = 'portal-language';
/** The choice made in this tab before the login; sent to the portal afterwards. */
const BEFORE_LOGIN_KEY = 'portal-language-before-login';
const PROBE_KEY = 'portal-language-probe';

function read(place: Place, key: string): Language | null {
  try {
    const found = window[place].getItem(key);
    return isLanguage(found) ? found : null;
  } catch {
    return null; // storage is switched off
  }
}

/** Whether this browser keeps it. */
function write(place: Place, key: string, language: Language | null): boolean {
  try {
    if (language === null) window[place].removeItem(key);
    else window[place].setItem(key, language);
    return true;
  } catch {
    return false; // storage is switched off, or has no room
  }
}

export const storedLanguage = (): Language | null => read('localStorage', LANGUAGE_KEY);

/** `null` is as the browser says. */
export const storeLanguage = (language: Language | null): boolean =>
  write('localStorage', LANGUAGE_KEY, language);

export const languageBeforeLogin = (): Language | null => read('sessionStorage', BEFORE_LOGIN_KEY);

export const storeLanguageBeforeLogin = (language: Language | null): boolean =>
  write('sessionStorage', BEFORE_LOGIN_KEY, language);

/** Without storage the browser's own language stays, whatever the user chooses. */
export const canStoreLanguage = (): boolean =>
  write('localStorage', PROBE_KEY, 'en') && write('localStorage', PROBE_KEY, null);

/** Remove the choices of the user who logged out. */
export function forgetLanguage(): void {
  storeLanguage(null);
  storeLanguageBeforeLogin(null);
}
