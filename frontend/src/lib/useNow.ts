/** One clock for all counters of the page: it ticks each second while the page is visible. */
import { useSyncExternalStore } from 'react';
import { clock } from './clock';

const TICK_MS = 1000;
const listeners = new Set<() => void>();
let now = clock.now();
let timer: number | undefined;

function tick(): void {
  now = clock.now();
  for (const listener of listeners) listener();
}

function setRunning(): void {
  const needed = listeners.size > 0 && !document.hidden;
  if (needed && timer === undefined) {
    tick();
    timer = window.setInterval(tick, TICK_MS);
  } else if (!needed) {
    window.clearInterval(timer);
    timer = undefined;
  }
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = clock.now();
    document.addEventListener('visibilitychange', setRunning);
  }
  listeners.add(listener);
  setRunning();
  return () => {
    listeners.delete(listener);
    setRunning();
    if (listeners.size === 0) document.removeEventListener('visibilitychange', setRunning);
  };
}

/** Return milliseconds since the epoch by the server's clock. */
export function useNow(): number {
  const current = (): number => now;
  return useSyncExternalStore(subscribe, current, current);
}

/** Return a value derived from the time, such as a day; renders only when that changes. */
export function useDerivedNow<T extends string | number>(select: (nowMs: number) => T): T {
  const selected = (): T => select(now);
  return useSyncExternalStore(subscribe, selected, selected);
}
