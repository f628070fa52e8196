/**
 * Events with a browser notification: a session is ready, a job has ended, time runs out. Pure.
 */
import { t } from '@lingui/core/macro';
import type { Job, Outcome, Session } from '@/api/types';
import { translate } from '@/i18n/translate';
import { duration, WARN_BEFORE_END_MS } from '@/lib/time';

export type Kind = 'session_started' | 'job_ended' | 'time_short';

export interface UserNotification {
  /** identifies the notification, so that it is shown once */
  key: string;
  kind: Kind;
  title: string;
  body: string;
  /** the page with details */
  to: string;
}

type Expiring = Pick<Session, 'id' | 'name' | 'state' | 'started_at' | 'expires_at'>;
type SomeSession = Expiring & Pick<Session, 'node'>;
type SomeJob = Expiring & Pick<Job, 'outcome' | 'reason' | 'ended_at'>;

export interface LiveSnapshot {
  sessions: readonly SomeSession[] | null;
  jobs: readonly SomeJob[] | null;
}

/** Slurm truncates its times to seconds. */
const CUT_MS = 2000;

/** Return the events between two snapshots; none if `before` is not loaded yet. `firstMs`: when the
 * first snapshot arrived. */
export function newNotifications(
  before: LiveSnapshot,
  after: LiveSnapshot,
  firstMs: number,
): UserNotification[] {
  return [...started(before.sessions, after.sessions), ...ended(before.jobs, after.jobs, firstMs)];
}

const ON_THE_WAY = new Set(['submitting', 'queued', 'starting']);

function started(
  before: readonly SomeSession[] | null,
  after: readonly SomeSession[] | null,
): UserNotification[] {
  if (before === null || after === null) return [];
  const previousStates = new Map(before.map(({ id, state }) => [id, state]));
  return after
    .filter(
      ({ id, state }) => state === 'running' && ON_THE_WAY.has(previousStates.get(id) ?? 'queued'),
    )
    .map((session) => ({
      key: `session_started ${session.id} ${session.started_at}`,
      kind: 'session_started',
      title: t`Session ${{ name: session.name }} is ready`,
      body: session.node ? t`It runs on ${{ node: session.node }}.` : '',
      to: `/sessions/${session.id}`,
    }));
}

/** Return the jobs that have ended between the snapshots. One that is only in the second either was
 * quick, or is old and has returned to the list. */
function ended(
  before: readonly SomeJob[] | null,
  after: readonly SomeJob[] | null,
  firstMs: number,
): UserNotification[] {
  if (before === null || after === null) return [];
  const states = new Map(before.map(({ id, state }) => [id, state]));
  const isNew = ({ ended_at }: SomeJob): boolean =>
    ended_at !== null && Date.parse(ended_at) >= firstMs - CUT_MS;
  return after
    .filter((job) => {
      const was = states.get(job.id);
      return job.state === 'ended' && was !== 'ended' && (was !== undefined || isNew(job));
    })
    .map((job) => ({
      key: `job_ended ${job.id}`,
      kind: 'job_ended',
      title: endTitle(job.name, job.outcome),
      body: translate(job.reason) ?? '',
      to: `/jobs/${job.id}`,
    }));
}

function endTitle(name: string, outcome: Outcome | null): string {
  switch (outcome) {
    case 'completed':
      return t`Job ${name} has completed`;
    case 'cancelled':
      return t`Job ${name} was cancelled`;
    case 'timeout':
      return t`Job ${name} ran out of time`;
    case 'out_of_memory':
      return t`Job ${name} ran out of memory`;
    case 'node_failed':
      return t`Job ${name} was lost with its node`;
    default:
      return t`Job ${name} has failed`;
  }
}

/** Return when to warn of the end: 15 minutes before it, later for short runs; null if it does not
 * run, or has no end. The portal's e-mails follow the same rule. */
export function warnAt({ state, started_at, expires_at }: Expiring): number | null {
  if (started_at === null || expires_at === null) return null;
  if (state !== 'running' && state !== 'suspended') return null;
  const [from, end] = [Date.parse(started_at), Date.parse(expires_at)];
  return Number.isNaN(from + end) ? null : end - Math.min(WARN_BEFORE_END_MS, (end - from) / 4);
}

function expiryNotification(
  item: Expiring,
  nowMs: number,
  title: string,
  to: string,
): UserNotification[] {
  const at = warnAt(item);
  if (at === null || item.expires_at === null) return [];
  const end = Date.parse(item.expires_at);
  if (nowMs < at || nowMs >= end) return [];
  const key = `time_short ${item.id} ${item.expires_at}`;
  const body = t`What isn't saved by then is lost.`;
  return [{ key, kind: 'time_short', title, body, to }];
}

const timeLeftText = ({ expires_at }: Expiring, nowMs: number): string =>
  duration(Math.ceil((Date.parse(expires_at ?? '') - nowMs) / 60_000) * 60_000);

/** Return the warnings that are due. */
export function expiryNotifications(
  { sessions, jobs }: LiveSnapshot,
  nowMs: number,
): UserNotification[] {
  return [
    ...(sessions ?? []).flatMap((s) =>
      expiryNotification(
        s,
        nowMs,
        t`Session ${{ name: s.name }} ends in ${{ time: timeLeftText(s, nowMs) }}`,
        `/sessions/${s.id}`,
      ),
    ),
    ...(jobs ?? []).flatMap((j) =>
      expiryNotification(
        j,
        nowMs,
        t`Job ${{ name: j.name }} ends in ${{ time: timeLeftText(j, nowMs) }}`,
        `/jobs/${j.id}`,
      ),
    ),
  ];
}

/** Return the time of the next warning. */
export function nextWarning({ sessions, jobs }: LiveSnapshot, nowMs: number): number | null {
  const coming = [...(sessions ?? []), ...(jobs ?? [])]
    .map(warnAt)
    .filter((at): at is number => at !== null && at > nowMs);
  return coming.length === 0 ? null : Math.min(...coming);
}
