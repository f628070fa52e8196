/** The live state of this tab, for React. Opened by the first page behind the login, closed at
 * logout. */
import { useSyncExternalStore } from 'react';
import type { Job, Session } from '@/api/types';
import type { EventStream } from './eventStream';
import { initialState, isActive, type LiveEvent, type LiveState, reduce } from './reducer';
import { openLive } from './share';

let state: LiveState = initialState;
let source: EventStream | null = null;
/** the username whose state it is */
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

type Snapshot = Extract<LiveEvent, { kind: 'snapshot' }>;

export const liveStore = {
  isOpen: (): boolean => owner !== null,
  /** Show a user's state before the stream brings it; no effect once it is open. */
  seed(username: string, snapshot: Snapshot): void {
    if (owner !== null) return;
    owner = username;
    emit(snapshot);
    emit({ kind: 'connection', connection: 'connecting', retryAt: null });
  },
  /** Open the user's stream; first clear the state of another user. */
  open(username: string): void {
    if (source !== null && owner === username) return;
    if (owner !== username) liveStore.close();
    owner = username;
    source = openLive({ emit, state: () => state }, username);
  },
  /** Clear everything: the next user of this browser may be someone else. */
  close(): void {
    source?.close();
    source = null;
    owner = null;
    state = initialState;
    for (const listener of listeners) listener();
  },
  /** Reconnect a lost stream at once. */
  reopen(): void {
    source?.reopen();
  },
  /** Apply the response to a request of this tab, which may arrive before the stream's event. */
  sessionAnswered(session: Session): void {
    emit({ kind: 'session_answered', session });
  },
  isNameTaken(name: string): boolean {
    return state.sessions?.some((s) => s.name === name && isActive(s)) ?? false;
  },
  sessionRemoved(id: string): void {
    emit({ kind: 'session_removed', id });
  },
  jobAnswered(job: Job): void {
    emit({ kind: 'job_answered', job });
  },
  jobRemoved(id: string): void {
    emit({ kind: 'job_removed', id });
  },
};

/** Return a part of the live state; renders only when that part changes. */
export function useLive<T>(select: (state: LiveState) => T): T {
  const selected = (): T => select(state);
  return useSyncExternalStore(subscribe, selected, selected);
}

export function useStreamedJob(id: string): Job | undefined {
  return useLive((s) => s.jobs?.find((job) => job.id === id));
}

export function useSession(id: string): Session | undefined {
  return useLive((s) => s.sessions?.find((session) => session.id === id));
}
