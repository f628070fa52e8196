/** The user's last choice on the start page, kept in this browser only, by username. */
import { isNamedResources, type NamedResources } from './requestedResources';

const keyOf = (username: string): string => `portal.last-start ${username}`;

export interface LastStart {
  environment: string | null;
  /** null: own resources */
  preset: string | null;
  own: NamedResources | null;
}

const NOTHING: LastStart = { environment: null, preset: null, own: null };

export function loadLastStart(username: string): LastStart {
  try {
    const value: unknown = JSON.parse(window.localStorage.getItem(keyOf(username)) ?? 'null');
    if (typeof value !== 'object' || value === null) return NOTHING;
    const found: LastStart = { ...NOTHING, ...value };
    return { ...found, own: isNamedResources(found.own) ? found.own : null };
  } catch {
    return NOTHING; // storage switched off, or written by an older version
  }
}

export function saveLastStart(username: string, choice: LastStart): void {
  try {
    window.localStorage.setItem(keyOf(username), JSON.stringify(choice));
  } catch {
    // storage switched off: next time begins with the defaults
  }
}
