/** The open one of the two dialogs that are available on every page. */
import { useSyncExternalStore } from 'react';

export type DialogName = 'palette' | 'shortcuts';

let open: DialogName | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function openDialog(name: DialogName | null): void {
  open = name;
  for (const listener of listeners) listener();
}

export const useOpenDialog = (): DialogName | null => useSyncExternalStore(subscribe, () => open);
