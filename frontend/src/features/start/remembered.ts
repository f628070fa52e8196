/** What somebody chose last time, kept in this browser only, for them alone. */
import type { Draft } from './check';

const keyOf = (username: string): string => `portal.last-start ${username}`;

export interface Remembered {
  environment: string | null;
  /** null: own resources */
  preset: string | null;
  own: Draft | null;
}

const NOTHING: Remembered = { environment: null, preset: null, own: null };

export function recall(username: string): Remembered {
  try {
    const value: unknown = JSON.parse(window.localStorage.getItem(keyOf(username)) ?? 'null');
    return typeof value === 'object' && value !== null ? { ...NOTHING, ...value } : NOTHING;
  } catch {
    return NOTHING; // storage switched off, or written by an older version
  }
}

export function remember(username: string, choice: Remembered): void {
  try {
    window.localStorage.setItem(keyOf(username), JSON.stringify(choice));
  } catch {
    // storage switched off: next time begins with the defaults
  }
}
