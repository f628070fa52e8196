/** Which of the two dialogs that open from everywhere is open, and whether single keys count. */
import { useSyncExternalStore } from 'react';

export type Which = 'palette' | 'shortcuts';

let open: Which | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function show(which: Which | null): void {
  open = which;
  for (const listener of listeners) listener();
}

export const useOpened = (): Which | null => useSyncExternalStore(subscribe, () => open);

const SINGLE_KEYS = 'portal-single-keys';

/** Speech input types whole words of single keys, so one can switch them off (WCAG 2.1.4). */
export function singleKeysCount(): boolean {
  try {
    return window.localStorage.getItem(SINGLE_KEYS) !== 'off';
  } catch {
    // storage is switched off: there is no wish to remember
    return true;
  }
}

/** False if the browser keeps nothing, so that it can't be remembered. */
export function letSingleKeysCount(count: boolean): boolean {
  try {
    if (count) window.localStorage.removeItem(SINGLE_KEYS);
    else window.localStorage.setItem(SINGLE_KEYS, 'off');
    return true;
  } catch {
    return false;
  }
}
