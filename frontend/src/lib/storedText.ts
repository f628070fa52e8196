/** A text that this browser keeps for the user, the same in all tabs. */
import { useCallback, useSyncExternalStore } from 'react';
import { readStored, writeStored } from './storage';

const listeners = new Set<() => void>();
/** for browsers without storage */
const memory = new Map<string, string>();

const read = (key: string): string | null => readStored(key) ?? memory.get(key) ?? null;

function write(key: string, value: string): void {
  memory.set(key, value);
  writeStored(key, value); // if that fails, the text lasts while this page is open
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

type Change = (change: (stored: string | null) => string) => void;

/** Return the stored text, null if there is none, and a function that replaces it. */
export function useStoredText(key: string): [stored: string | null, change: Change] {
  const stored = (): string | null => read(key);
  const change = useCallback<Change>((changed) => write(key, changed(read(key))), [key]);
  return [useSyncExternalStore(subscribe, stored, stored), change];
}
