/** The announcements that the user of this browser has closed; the same in all tabs. */
import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { readDismissed, withDismissed } from './current';

const PREFIX = 'portal-announcements-put-away:';
const listeners = new Set<() => void>();
/** for browsers that keep nothing */
const memory = new Map<string, string>();

function read(key: string): string | null {
  try {
    return window.localStorage.getItem(key) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null;
  }
}

function write(key: string, value: string): void {
  memory.set(key, value);
  try {
    window.localStorage.setItem(key, value);
  } catch {
    // full, or forbidden: it holds for as long as this page is open
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

export function useDismissed(username: string): [ReadonlySet<string>, (key: string) => void] {
  const key = PREFIX + username;
  const stored = useSyncExternalStore(subscribe, () => read(key));
  const known = useMemo(() => new Set(readDismissed(stored)), [stored]);
  const putAway = useCallback(
    (text: string) => write(key, JSON.stringify(withDismissed(readDismissed(read(key)), text))),
    [key],
  );
  return [known, putAway];
}
