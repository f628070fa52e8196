/** The live state of this tab, for React. Opened by the first page behind the login, closed at log-out. */
import { useSyncExternalStore } from 'react';
import type { Job, Session } from '@/api/types';
import { initialState, isLive, type LiveEvent, type LiveState, reduce } from './reducer';
import { openLive } from './share';
import type { OpenSource } from './source';

let state: LiveState = initialState;
let source: OpenSource | null = null;
/** whose state it is */
let owner: string | null = null;
const listeners = new Set<() => void>();

function emit(event: LiveEvent): void {
  const next = reduce(state, event);
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const live = {
  /** Reset for another user. */
  open(username: string): void {
    if (source !== null && owner === username) return;
    live.close();
    owner = username;
    source = openLive({ emit, state: () => state }, username);
  },
  /** Clears everything: the next user of this browser may be another one. */
  close(): void {
    source?.close();
    source = null;
    owner = null;
    state = initialState;
    for (const listener of listeners) listener();
  },
  /** Tries a lost link at once. */
  reopen(): void {
    source?.reopen();
  },
  /** Takes over the answer to a request of this tab, which may come before the stream's event. */
  answered(session: Session): void {
    emit({ kind: 'answered', session });
  },
  isNameTaken(name: string): boolean {
    return state.sessions?.some((s) => s.name === name && isLive(s)) ?? false;
  },
  removed(id: string): void {
    emit({ kind: 'removed', id });
  },
  jobAnswered(job: Job): void {
    emit({ kind: 'job_answered', job });
  },
  jobRemoved(id: string): void {
    emit({ kind: 'job_removed', id });
  },
};

/** A part of the live state; renders again only when that part changes. */
export function useLive<T>(select: (state: LiveState) => T): T {
  const selected = (): T => select(state);
  return useSyncExternalStore(subscribe, selected, selected);
}

export function useLiveJob(id: string): Job | undefined {
  return useLive((s) => s.jobs?.find((job) => job.id === id));
}

export function useSession(id: string): Session | undefined {
  return useLive((s) => s.sessions?.find((session) => session.id === id));
}
