/** Which of the two dialogs that open from everywhere is open, and whether single keys count. */
import { useSyncExternalStore } from 'react';

export type DialogName = 'palette' | 'shortcuts';

let open: DialogName | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function openDialog(which: DialogName | null): void {
  open = which;
  for (const listener of listeners) listener();
}

export const useOpenDialog = (): DialogName | null => useSyncExternalStore(subscribe, () => open);

const SINGLE_KEYS = 'portal-single-keys';

/** Speech input types whole words of single keys, so one can switch them off (WCAG 2.1.4). */
export function areSingleKeysOn(): boolean {
  try {
    return window.localStorage.getItem(SINGLE_KEYS) !== 'off';
  } catch {
    // storage is switched off: nothing was saved
    return true;
  }
}

/** False if the browser keeps nothing, so that it can't be remembered. */
export function setSingleKeys(count: boolean): boolean {
  try {
    if (count) window.localStorage.removeItem(SINGLE_KEYS);
    else window.localStorage.setItem(SINGLE_KEYS, 'off');
    return true;
  } catch {
    return false;
  }
}
