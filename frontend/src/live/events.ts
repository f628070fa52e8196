/** Parses the server's event stream to LiveEvents. Pure: the stream itself is source.ts. */
import type { Cluster, Job, Session } from '@/api/types';
import type { LiveEvent } from './reducer';
import type { Announcement } from './types';

export const EVENT_NAMES = [
  'snapshot',
  'session',
  'session_removed',
  'job',
  'job_removed',
  'cluster',
  'announcements',
] as const;
export type EventName = (typeof EVENT_NAMES)[number];

interface Snapshot {
  sessions: Session[];
  jobs?: Job[];
  cluster?: Cluster | null;
  announcements?: Announcement[];
}

/** Parse an event; null for data that isn't JSON: one broken message must not end the stream. */
export function toLiveEvent(name: EventName, data: string): LiveEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return null;
  }
  switch (name) {
    case 'snapshot': {
      const { sessions, jobs = [], cluster = null, announcements = [] } = value as Snapshot;
      return { kind: 'snapshot', sessions, jobs, cluster, announcements };
    }
    case 'session':
      return { kind: 'session', session: value as Session };
    case 'session_removed':
      return { kind: 'session_removed', id: (value as { id: string }).id };
    case 'job':
      return { kind: 'job', job: value as Job };
    case 'job_removed':
      return { kind: 'job_removed', id: (value as { id: string }).id };
    case 'cluster':
      return { kind: 'cluster', cluster: value as Cluster };
    case 'announcements':
      return { kind: 'announcements', announcements: (value as { items: Announcement[] }).items };
  }
}

const FIRST_RETRY_MS = 1000;
const SLOWEST_RETRY_MS = 15_000;

/** Return the delay before attempt number `attempt` (from 0): doubling, with jitter so that all
 * pages do not reconnect to a restarted portal in the same second. `random` is in [0, 1). */
export function retryDelay(attempt: number, random: number): number {
  const longest = Math.min(SLOWEST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt);
  return Math.round(longest * (0.5 + random / 2));
}
