/** The live state of sessions, jobs, the cluster and announcements, and how each event changes it.
 * Pure. */
import type { Cluster, Job, Session, SessionState } from '@/api/types';
import type { Announcement } from './types';

export interface LiveState {
  /** null until the first snapshot has arrived */
  sessions: readonly Session[] | null;
  /** the active ones and the newest of all; null until the first snapshot has arrived */
  jobs: readonly Job[] | null;
  cluster: Cluster | null;
  /** current and upcoming ones; null until the first snapshot has arrived */
  announcements: readonly Announcement[] | null;
  /** `ended`: the login has ended, and the page asks for another */
  connection: 'connecting' | 'open' | 'lost' | 'ended';
  /** the time of the next attempt to reconnect: milliseconds by this browser's clock */
  retryAt: number | null;
}

export type LiveEvent =
  | {
      kind: 'snapshot';
      sessions: Session[];
      jobs: Job[];
      cluster: Cluster | null;
      announcements: readonly Announcement[];
    }
  | { kind: 'session'; session: Session }
  /** the response to this browser's own request; the stream may already have newer data */
  | { kind: 'session_answered'; session: Session }
  | { kind: 'session_removed'; id: string }
  | { kind: 'job'; job: Job }
  | { kind: 'job_answered'; job: Job }
  | { kind: 'job_removed'; id: string }
  | { kind: 'cluster'; cluster: Cluster }
  | { kind: 'announcements'; announcements: Announcement[] }
  | { kind: 'connection'; connection: LiveState['connection']; retryAt: number | null };

export const initialState: LiveState = {
  sessions: null,
  jobs: null,
  cluster: null,
  announcements: null,
  connection: 'connecting',
  retryAt: null,
};

/** The fields that sessions and jobs have in common here. */
type SessionOrJob = Pick<Session, 'id' | 'state' | 'submitted_at' | 'ended_at'>;

const PROGRESS: Record<SessionState, number> = {
  submitting: 0,
  queued: 1,
  starting: 2,
  running: 3,
  suspended: 3,
  stopping: 4,
  ended: 5,
};

export const isActive = ({ state }: Pick<SessionOrJob, 'state'>): boolean => state !== 'ended';

/** Sort active sessions and jobs before ended ones, the newest first in each. */
export function inOrder<T extends SessionOrJob>(all: readonly T[]): T[] {
  const when = (s: T): string => s.ended_at ?? s.submitted_at;
  return [...all].sort(
    (a, b) => Number(isActive(b)) - Number(isActive(a)) || when(b).localeCompare(when(a)),
  );
}

function put<T extends SessionOrJob>(all: readonly T[] | null, changed: T): T[] {
  return inOrder([...(all ?? []).filter((s) => s.id !== changed.id), changed]);
}

function without<T extends SessionOrJob>(
  all: readonly T[] | null,
  id: string,
): readonly T[] | null {
  return all?.filter((s) => s.id !== id) ?? null;
}

/** Return whether a response is older than the state: it may arrive after the event about the same
 * change. */
function isOutdated(all: readonly SessionOrJob[] | null, answer: SessionOrJob): boolean {
  const current = all?.find((s) => s.id === answer.id);
  return current !== undefined && PROGRESS[current.state] > PROGRESS[answer.state];
}

export function reduce(state: LiveState, event: LiveEvent): LiveState {
  switch (event.kind) {
    case 'snapshot':
      return {
        sessions: inOrder(event.sessions),
        jobs: inOrder(event.jobs),
        cluster: event.cluster ?? state.cluster,
        announcements: event.announcements,
        connection: 'open',
        retryAt: null,
      };
    case 'session':
      return { ...state, sessions: put(state.sessions, event.session) };
    case 'session_answered':
      return isOutdated(state.sessions, event.session)
        ? state
        : { ...state, sessions: put(state.sessions, event.session) };
    case 'session_removed':
      return { ...state, sessions: without(state.sessions, event.id) };
    case 'job':
      return { ...state, jobs: put(state.jobs, event.job) };
    case 'job_answered':
      return isOutdated(state.jobs, event.job)
        ? state
        : { ...state, jobs: put(state.jobs, event.job) };
    case 'job_removed':
      return { ...state, jobs: without(state.jobs, event.id) };
    case 'cluster':
      return { ...state, cluster: event.cluster };
    case 'announcements':
      return { ...state, announcements: event.announcements };
    case 'connection':
      return state.connection === event.connection && state.retryAt === event.retryAt
        ? state
        : { ...state, connection: event.connection, retryAt: event.retryAt };
  }
}
