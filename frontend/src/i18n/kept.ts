/**
 * What this browser keeps of the language that its reader has chosen. The portal keeps it too
 * (`preferences.language`), for everybody by themselves; a browser may be several people's.
 */
import { isLanguage, type Language } from './language';

type Place = 'localStorage' | 'sessionStorage';

/** What the pages speak here, until somebody logs out. */
const SPOKEN = 'portal-language';
/** What was chosen in this tab before it was known by whom: the portal is told after the login. */
const BEFORE_LOGIN = 'portal-language-before-login';
const PROBE = 'portal-language-probe';

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

export const keptHere = (): Language | null => read('localStorage', SPOKEN);

/** `null` is as the browser says. */
export const keepHere = (language: Language | null): boolean =>
  write('localStorage', SPOKEN, language);

export const chosenBeforeLogin = (): Language | null => read('sessionStorage', BEFORE_LOGIN);

export const keepBeforeLogin = (language: Language | null): boolean =>
  write('sessionStorage', BEFORE_LOGIN, language);

/** Where not, the browser's own language stays, whatever somebody chooses. */
export const keepsChoices = (): boolean =>
  write('localStorage', PROBE, 'en') && write('localStorage', PROBE, null);

/** Leaves nothing of whoever was here. */
export function forgetLanguage(): void {
  keepHere(null);
  keepBeforeLogin(null);
}
