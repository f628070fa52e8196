/** The sessions and jobs that the user has chosen to keep although their GPU is idle. */
import { useCallback } from 'react';
import { useStoredText } from '@/lib/storedText';

const KEY = 'portal-idle-gpus-kept';
/** More than these are never shown at once; older ones are dropped. */
const MAX_KEPT = 50;

type Kept = Record<string, number>;

/** Parse what a browser has stored; anything but times by id is left out. */
export function readKept(stored: string | null): Kept {
  try {
    const value: unknown = JSON.parse(stored ?? '{}');
    if (typeof value !== 'object' || value === null) return {};
    return Object.fromEntries(Object.entries(value).filter(([, at]) => typeof at === 'number'));
  } catch {
    return {};
  }
}

export function withKept(kept: Kept, id: string, atMs: number): Kept {
  const others = Object.entries(kept).filter(([other]) => other !== id);
  return Object.fromEntries([...others, [id, atMs] as const].slice(-MAX_KEPT));
}

/** Return when the user chose to keep this one, and a function to choose it now. */
export function useKeptDespiteIdle(
  id: string,
): [atMs: number | null, keep: (nowMs: number) => void] {
  const [stored, change] = useStoredText(KEY);
  const keep = useCallback(
    (nowMs: number) => change((now) => JSON.stringify(withKept(readKept(now), id, nowMs))),
    [change, id],
  );
  return [readKept(stored)[id] ?? null, keep];
}
