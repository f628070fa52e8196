/** The two dialogs of every page, of which at most one is shown. */
import { useSyncExternalStore } from 'react';

export type DialogName = 'palette' | 'shortcuts';

let shown: DialogName | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Show a dialog instead of the other; null closes it. */
export function showDialog(name: DialogName | null): void {
  shown = name;
  for (const listener of listeners) listener();
}

export const useShownDialog = (): DialogName | null => useSyncExternalStore(subscribe, () => shown);
