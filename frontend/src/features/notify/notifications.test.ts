import { describe, expect, it } from 'vitest';
import type { Job, Session } from '@/api/types';
import {
  expiryNotifications,
  newNotifications as happenedSince,
  nextWarning,
  warnAt,
} from './notifications';

const T0 = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60_000;
const at = (minutes: number): string => new Date(T0 + minutes * MINUTE).toISOString();

const session = (over: Partial<Session> = {}): Session =>
  ({
    id: 's',
    name: 'main',
    state: 'running',
    node: 'node01',
    started_at: at(-60),
    expires_at: at(60),
    ...over,
  }) as Session;
const job = (over: Partial<Job> = {}): Job =>
  ({
    ...session(),
    id: 'j',
    name: 'train',
    outcome: null,
    reason: null,
    ended_at: null,
    ...over,
  }) as Job;

const happened = (before: ReturnType<typeof snapshotOf>, after: ReturnType<typeof snapshotOf>) =>
  happenedSince(before, after, T0);
const snapshotOf = (sessions: Session[] | null, jobs: Job[] | null = null) => ({ sessions, jobs });

describe('notifications of events', () => {
  it('reports nothing for the first snapshot', () => {
    expect(
      happened(snapshotOf(null, null), snapshotOf([session()], [job({ state: 'ended' })])),
    ).toEqual([]);
  });

  it('reports a session that has become ready, once', () => {
    const waiting = session({ state: 'queued', started_at: null });
    const [news] = happened(snapshotOf([waiting]), snapshotOf([session()]));
    expect(news).toMatchObject({
      kind: 'session_started',
      title: 'Session main is ready',
      body: 'It runs on node01.',
      to: '/sessions/s',
    });
    expect(happened(snapshotOf([session()]), snapshotOf([session()]))).toEqual([]);
    expect(
      happened(snapshotOf([session({ state: 'suspended' })]), snapshotOf([session()])),
    ).toEqual([]);
  });

  it('reports one that was started elsewhere and is ready at once', () => {
    expect(happened(snapshotOf([]), snapshotOf([session()]))).toHaveLength(1);
  });

  it('reports the end of a job, but not of an old one that returns to the list', () => {
    const end = job({ state: 'ended', outcome: 'out_of_memory', reason: 'It had 16 GB.' });
    expect(happened(snapshotOf(null, [job()]), snapshotOf(null, [end]))).toMatchObject([
      { title: 'Job train ran out of memory', body: 'It had 16 GB.', to: '/jobs/j' },
    ]);
    expect(happened(snapshotOf(null, []), snapshotOf(null, [end]))).toEqual([]);
    expect(happened(snapshotOf(null, [end]), snapshotOf(null, [end]))).toEqual([]);
  });

  it('reports the end of a job that was too quick to be seen before', () => {
    const quick = job({ state: 'ended', outcome: 'completed', ended_at: at(1) });
    const old = job({ id: 'o', state: 'ended', outcome: 'completed', ended_at: at(-1) });
    expect(
      happened(snapshotOf(null, []), snapshotOf(null, [quick, old])).map(({ to }) => to),
    ).toEqual(['/jobs/j']);
  });

  it.each([
    ['completed', 'Job train has completed'],
    ['failed', 'Job train has failed'],
    ['cancelled', 'Job train was cancelled'],
    ['timeout', 'Job train ran out of time'],
    ['node_failed', 'Job train was lost with its node'],
  ] as const)('says of %s: %s', (outcome, title) => {
    const end = job({ state: 'ended', outcome });
    expect(happened(snapshotOf(null, [job()]), snapshotOf(null, [end]))[0]?.title).toBe(title);
  });
});

describe('warnings of the end', () => {
  it('are due 15 minutes before the end, later for short runs', () => {
    expect(warnAt(session())).toBe(T0 + 45 * MINUTE);
    const brief = session({ started_at: at(0), expires_at: at(20) });
    expect(warnAt(brief)).toBe(T0 + 15 * MINUTE);
    expect(warnAt(session({ expires_at: null }))).toBeNull();
    expect(warnAt(session({ state: 'ended' }))).toBeNull();
  });

  it('are shown from then until the end, once per end', () => {
    const picture = snapshotOf([session()], [job({ expires_at: at(600) })]);
    expect(expiryNotifications(picture, T0 + 44 * MINUTE)).toEqual([]);
    const [news] = expiryNotifications(picture, T0 + 46 * MINUTE - 20_000);
    expect(news?.title).toBe('Session main ends in 15 min');
    expect(expiryNotifications(picture, T0 + 60 * MINUTE)).toEqual([]);
    const extended = expiryNotifications(
      snapshotOf([session({ expires_at: at(61) })]),
      T0 + 50 * MINUTE,
    );
    expect(extended[0]?.key).not.toBe(news?.key);
  });

  it('schedule the next check', () => {
    const picture = snapshotOf([session()], [job({ expires_at: at(600) })]);
    expect(nextWarning(picture, T0)).toBe(T0 + 45 * MINUTE);
    expect(nextWarning(picture, T0 + 46 * MINUTE)).toBe(T0 + 585 * MINUTE);
    expect(nextWarning(snapshotOf(null), T0)).toBeNull();
  });
});
