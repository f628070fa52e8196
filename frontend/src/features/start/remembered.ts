/** What was chosen last time, kept in this browser only. */
import type { Draft } from './check';

const KEY = 'portal.last-start';

export interface Remembered {
  environment: string | null;
  /** null: own resources */
  preset: string | null;
  own: Draft | null;
}

const NOTHING: Remembered = { environment: null, preset: null, own: null };

export function recall(): Remembered {
  try {
    const value: unknown = JSON.parse(window.localStorage.getItem(KEY) ?? 'null');
    return typeof value === 'object' && value !== null ? { ...NOTHING, ...value } : NOTHING;
  } catch {
    return NOTHING; // storage switched off, or written by an older version
  }
}

export function remember(choice: Remembered): void {
  try {
    window.localStorage.setItem(KEY, JSON.stringify(choice));
  } catch {
    // storage switched off: next time begins with the defaults
  }
}
