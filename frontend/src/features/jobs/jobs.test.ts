import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/types';
import { errorLine } from '@/features/log/findError';
import { spokenJobChanges } from '@/live/announce';
import { toLiveEvent } from '@/live/events';
import { initialState, reduce } from '@/live/reducer';
import { metricText } from '@/ui/metricText';
import {
  arrayText,
  hasFailed,
  jobReason,
  jobStateLabel,
  jobTime,
  nodeNamesText,
  parameterText,
  taskColumns,
} from './labels';

const job = (id: string, over: Partial<Job> = {}): Job =>
  ({
    id,
    name: id,
    state: 'running',
    outcome: null,
    reason: null,
    job_id: 7,
    node: 'n1',
    submitted_at: '2026-01-01T10:00:00Z',
    started_at: '2026-01-01T10:01:00Z',
    ended_at: null,
    expires_at: null,
    resources: { memory_gb: 4 },
    ...over,
  }) as Job;

const NOW = Date.parse('2026-01-01T10:11:00Z');

describe('labels', () => {
  it('name success, and the reason of a failure', () => {
    expect(jobStateLabel({ state: 'ended', outcome: 'completed' }).tone).toBe('good');
    expect(hasFailed({ state: 'ended', outcome: 'cancelled' })).toBe(false);
    expect(hasFailed({ state: 'ended', outcome: 'timeout' })).toBe(true);
    expect(jobReason(job('a', { state: 'ended', outcome: 'timeout' }))).toMatch(/time limit/);
    expect(jobReason(job('a', { reason: 'Because.' }))).toBe('Because.');
    expect(jobReason(job('a'))).toBeNull();
  });

  it('show the time pending, running or run', () => {
    expect(jobTime(job('a', { state: 'queued', started_at: null }), NOW)).toBe(
      'waiting for 11 min',
    );
    expect(jobTime(job('a', { expires_at: '2026-01-01T11:11:00Z' }), NOW)).toBe(
      'running for 10 min, 1 h left',
    );
    expect(jobTime(job('a', { ended_at: '2026-01-01T10:03:00Z' }), NOW)).toBe('ran 2 min');
    expect(jobTime(job('a', { started_at: null, ended_at: '2026-01-01T10:03:00Z' }), NOW)).toBe(
      'never ran',
    );
  });

  it('name one node, a few, or their number', () => {
    const on = (...nodes: string[]) => nodeNamesText({ node: nodes[0] ?? null, nodes });
    expect([on(), on('a'), on('a', 'b'), on('a', 'b', 'c', 'd')]).toEqual([
      null,
      'a',
      'a, b',
      'a and 3 more',
    ]);
  });

  it('sum up an array', () => {
    const counts = { queued: 1, submitting: 1, completed: 2, failed: 1 };
    expect(arrayText({ size: 5, counts })).toBe('5 tasks: 2 completed, 2 queued, 1 failed');
    expect(arrayText({ size: 1, counts: {} })).toBe('1 task');
  });

  it('format values and metrics', () => {
    expect([null, [], [1, 'a'], true, 0].map(parameterText)).toEqual([
      '–',
      '–',
      '1, a',
      'yes',
      '0',
    ]);
    expect([0.123456, 12345678, undefined, null].map(metricText)).toEqual([
      '0.1235',
      '12350000',
      '–',
      'not a number',
    ]);
  });

  it('collect the columns of tasks that differ', () => {
    const tasks = [
      { index: 0, state: 'ended', parameters: { a: 1 }, metrics: null, so_far: false },
      { index: 1, state: 'ended', parameters: { a: 2 }, metrics: { loss: 1 }, so_far: true },
    ] as const;
    expect(taskColumns([...tasks])).toEqual({ parameters: ['a'], metrics: ['loss'] });
  });
});

describe('errorLine', () => {
  it('finds the error before later lines', () => {
    const log = 'epoch 1\nTraceback (most recent call last):\nValueError: no such file x\nbye\n';
    expect(errorLine(log)).toBe('ValueError: no such file x');
    expect(errorLine('python: command not found\n\n')).toBe('python: command not found');
  });

  it('falls back to the last line, or null', () => {
    expect(errorLine('loss 0.3, validation error rate 2\nstopping\n')).toBe('stopping');
    expect(errorLine(' \n')).toBeNull();
  });
});

describe('live jobs', () => {
  it('come with the snapshot and change by events', () => {
    const snapshot = toLiveEvent(
      'snapshot',
      JSON.stringify({ sessions: [], jobs: [job('a', { state: 'queued' })] }),
    );
    if (snapshot === null) throw new Error('no snapshot');
    const first = reduce(initialState, snapshot);
    const running = reduce(first, { kind: 'job', job: job('a') });
    expect(running.jobs?.map((j) => j.state)).toEqual(['running']);
    const slow = reduce(running, { kind: 'job_answered', job: job('a', { state: 'queued' }) });
    expect(slow).toBe(running);
    expect(reduce(running, { kind: 'job_removed', id: 'a' }).jobs).toEqual([]);
    expect(spokenJobChanges(first.jobs, running.jobs)).toEqual(['Job a is running on n1.']);
  });

  it('are not announced when an old one returns to the list', () => {
    expect(spokenJobChanges([], [job('old', { state: 'ended' })])).toEqual([]);
  });
});
