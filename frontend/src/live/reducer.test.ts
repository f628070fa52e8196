import { describe, expect, it } from 'vitest';
import type { Cluster, Session } from '@/api/types';
import { spokenSessionChanges } from './announce';
import { retryDelay, toLiveEvent } from './events';
import { initialState, type LiveEvent, type LiveState, reduce } from './reducer';
import type { Announcement } from './types';

const session = (id: string, over: Partial<Session> = {}): Session => ({
  id,
  name: id,
  owner: 'alice',
  environment: 'python3',
  environment_title: 'Python 3',
  resources: {
    partition: null,
    nodes: 1,
    gpus: 0,
    gpu_type: null,
    cpus: 1,
    memory_gb: null,
    time_limit_minutes: null,
    account: null,
    qos: null,
  },
  state: 'queued',
  outcome: null,
  reason: null,
  suggestion: null,
  stale_since: null,
  job_id: 1,
  node: null,
  url: null,
  submitted_at: '2026-01-01T10:00:00Z',
  started_at: null,
  ready_at: null,
  ended_at: null,
  expires_at: null,
  estimated_start: null,
  timeline: [],
  logdir: '/home/alice/runs',
  opens: null,
  tensorboard: null,
  extension: null,
  idle_since: null,
  ...over,
});

const cluster = { name: 'c' } as Cluster;
const stateAfter = (...events: LiveEvent[]): LiveState => events.reduce(reduce, initialState);
const ids = (state: LiveState): string[] | undefined => state.sessions?.map((s) => s.id);
const snapshot = (...sessions: Session[]): LiveEvent => ({
  kind: 'snapshot',
  sessions,
  jobs: [],
  cluster,
  announcements: [],
});

describe('reduce', () => {
  it('has unknown, not empty, sessions before the first snapshot', () => {
    expect(initialState.sessions).toBeNull();
    expect(stateAfter(snapshot()).sessions).toEqual([]);
  });

  it('orders live before ended, newest first', () => {
    const state = stateAfter(
      snapshot(
        session('old', { submitted_at: '2026-01-01T08:00:00Z' }),
        session('gone', { state: 'ended', ended_at: '2026-01-01T12:00:00Z' }),
        session('new', { submitted_at: '2026-01-01T11:00:00Z' }),
      ),
    );
    expect(ids(state)).toEqual(['new', 'old', 'gone']);
  });

  it('replaces a session and leaves the others as they are', () => {
    const first = stateAfter(snapshot(session('a'), session('b')));
    const next = reduce(first, { kind: 'session', session: session('a', { state: 'running' }) });
    expect(next.sessions?.find((s) => s.id === 'a')?.state).toBe('running');
    expect(next.sessions?.find((s) => s.id === 'b')).toBe(
      first.sessions?.find((s) => s.id === 'b'),
    );
    expect(next.sessions).toHaveLength(2);
  });

  it('accepts an earlier state (requeue) from the stream but not from a slow response', () => {
    const running = stateAfter(snapshot(session('a', { state: 'running' })));
    const requeued = reduce(running, { kind: 'session', session: session('a') });
    expect(requeued.sessions?.[0]?.state).toBe('queued');
    const slow: LiveEvent = {
      kind: 'session_answered',
      session: session('a', { state: 'submitting' }),
    };
    expect(reduce(running, slow)).toBe(running);
  });

  it('applies a newer response', () => {
    const state = stateAfter(snapshot(), { kind: 'session_answered', session: session('a') });
    expect(ids(state)).toEqual(['a']);
    const stopping: LiveEvent = {
      kind: 'session_answered',
      session: session('a', { state: 'stopping' }),
    };
    expect(reduce(state, stopping).sessions?.[0]?.state).toBe('stopping');
  });

  it('removes, and drops what a later snapshot no longer has', () => {
    const two = stateAfter(snapshot(session('a'), session('b')));
    expect(ids(reduce(two, { kind: 'session_removed', id: 'a' }))).toEqual(['b']);
    expect(ids(reduce(two, snapshot(session('b'))))).toEqual(['b']);
  });

  it('keeps the last data while the connection is lost, until the next snapshot', () => {
    const lost = stateAfter(snapshot(session('a')), {
      kind: 'connection',
      connection: 'lost',
      retryAt: 5,
    });
    expect(lost.connection).toBe('lost');
    expect(lost.retryAt).toBe(5);
    expect(ids(lost)).toEqual(['a']);
    const mended = reduce(lost, snapshot());
    expect([mended.connection, mended.retryAt]).toEqual(['open', null]);
  });

  it('has the announcements of the newest message, and none when they are over', () => {
    const announcement = { id: 'n' } as Announcement;
    const state = stateAfter(snapshot(), { kind: 'announcements', announcements: [announcement] });
    expect(initialState.announcements).toBeNull();
    expect(state.announcements).toEqual([announcement]);
    expect(reduce(state, { kind: 'announcements', announcements: [] }).announcements).toEqual([]);
    expect(reduce(state, snapshot()).announcements).toEqual([]);
  });

  it('keeps the cluster when a snapshot comes without one', () => {
    const state = stateAfter(snapshot(), {
      kind: 'snapshot',
      sessions: [],
      jobs: [],
      cluster: null,
      announcements: [],
    });
    expect(state.cluster).toBe(cluster);
  });
});

describe('toLiveEvent', () => {
  it('reads the events', () => {
    expect(toLiveEvent('session_removed', '{"id":"a"}')).toEqual({
      kind: 'session_removed',
      id: 'a',
    });
    expect(toLiveEvent('snapshot', '{"sessions":[]}')).toEqual({
      kind: 'snapshot',
      sessions: [],
      jobs: [],
      cluster: null,
      announcements: [],
    });
    expect(toLiveEvent('cluster', '{"name":"c"}')).toEqual({ kind: 'cluster', cluster });
    expect(toLiveEvent('announcements', '{"items":[{"id":"n"}]}')).toEqual({
      kind: 'announcements',
      announcements: [{ id: 'n' }],
    });
    expect(toLiveEvent('session', '{"id":"a"}')).toEqual({ kind: 'session', session: { id: 'a' } });
  });

  it('survives a broken message', () => {
    expect(toLiveEvent('session', '{"id":')).toBeNull();
  });
});

describe('retryDelay', () => {
  it('doubles to a bound, with jitter below it', () => {
    expect(retryDelay(0, 0)).toBe(500);
    expect(retryDelay(0, 0.999)).toBeLessThanOrEqual(1000);
    expect(retryDelay(3, 0)).toBe(4000);
    expect(retryDelay(50, 0.999)).toBeLessThanOrEqual(15_000);
  });
});

describe('announcements', () => {
  const a = session('a');

  it('is silent for the first snapshot and for mere counters', () => {
    expect(spokenSessionChanges(null, [a])).toEqual([]);
    expect(spokenSessionChanges([a], [{ ...a, reason: 'other' }])).toEqual([]);
  });

  it('announces changes of state, with the reason of an end', () => {
    expect(spokenSessionChanges([a], [{ ...a, state: 'running' }])).toEqual([
      'Session a is ready.',
    ]);
    expect(spokenSessionChanges([a], [{ ...a, state: 'ended', reason: 'Out of memory.' }])).toEqual(
      ['Session a has ended. Out of memory.'],
    );
    expect(spokenSessionChanges([a], [])).toEqual([]);
  });
});
