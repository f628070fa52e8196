/** This browser's storage of settings, which may be disabled or full. */

/** Return a stored text; null if there is none, or storage is disabled. */
export function readStored(key: string): string | null {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Store a text, or remove it by null; return false if storage is disabled or full. */
export function writeStored(key: string, value: string | null): boolean {
  try {
    if (value === null) window.localStorage.removeItem(key);
    else window.localStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}
