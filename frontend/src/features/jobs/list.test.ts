import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/types';
import { jobRows } from './list';
import type { JobsSearch } from './search';

const job = (id: string, over: Partial<Job> = {}): Job =>
  ({
    id,
    name: id,
    state: 'running',
    outcome: null,
    job_id: 7,
    template: null,
    submitted_at: '2026-01-01T10:00:00Z',
    started_at: '2026-01-01T10:01:00Z',
    ended_at: null,
    parameters: {},
    metrics: null,
    ...over,
  }) as Job;

const NONE: ReadonlySet<string> = new Set();
const at = (hour: number): string => `2026-01-01T${String(hour).padStart(2, '0')}:00:00Z`;
const ids = (rows: readonly Job[]): string => rows.map(({ id }) => id).join(' ');
const merged = (fetched: Job[], changed: Job[], search: JobsSearch = {}, hasMore = false): string =>
  ids(jobRows(fetched, changed, NONE, search, hasMore));

describe('jobRows', () => {
  it('applies the changes from the stream, and adds new jobs, newest first', () => {
    const fetched = [job('a'), job('b', { submitted_at: at(9) })];
    const streamedJobs = [job('a', { state: 'ended' }), job('c', { submitted_at: at(11) })];
    expect(jobRows(fetched, streamedJobs, NONE, {}, false).map((j) => [j.id, j.state])).toEqual([
      ['c', 'running'],
      ['a', 'ended'],
      ['b', 'running'],
    ]);
  });

  it('drops jobs that no longer match or were removed', () => {
    const fetched = [job('a'), job('b')];
    const ended = [job('a', { state: 'ended' })];
    expect(merged(fetched, ended, { state: 'live' })).toBe('b');
    expect(ids(jobRows(fetched, [], new Set(['b']), {}, false))).toBe('a');
  });

  it('takes the last version of a job', () => {
    const rows = jobRows([], [job('a'), job('a', { state: 'ended' })], NONE, {}, false);
    expect(rows.map(({ state }) => state)).toEqual(['ended']);
  });

  it('puts new jobs among the names as the portal has sorted them', () => {
    const fetched = [job('a'), job('Z'), job('x')]; // as in a collation that ignores case
    expect(merged(fetched, [job('y')], { order: 'name' })).toBe('a Z x y');
    expect(merged([...fetched].reverse(), [job('y')], { order: 'name_down' })).toBe('y x Z a');
  });

  it('puts jobs that have ended to their place', () => {
    const ended = (id: string, hour: number): Job =>
      job(id, { state: 'ended', started_at: at(9), ended_at: at(hour) });
    const fetched = [ended('c', 12), ended('a', 10)];
    expect(merged(fetched, [ended('b', 11), job('live')], { order: 'ended' })).toBe('c b a');
    expect(merged([...fetched].reverse(), [ended('b', 11)], { order: 'duration_up' })).toBe(
      'a b c',
    );
  });

  it('sorts by a value as the portal does: numbers, then texts', () => {
    const tuned = (id: string, lr: unknown): Job => job(id, { parameters: { lr } });
    const fetched = [tuned('b', 2), tuned('c', 10), tuned('e', 'auto')];
    const streamedJobs = [tuned('a', 0.5), tuned('d', 'all'), job('none'), tuned('null', null)];
    const search = { by: 'param:lr' } as const;
    expect(merged(fetched, streamedJobs, { ...search, order: 'value_up' })).toBe('a b c d e');
    expect(merged([...fetched].reverse(), streamedJobs, { ...search, order: 'value' })).toBe(
      'e d c b a',
    );
  });

  it('leaves to a later page what belongs there', () => {
    const fetched = [job('b', { submitted_at: at(9) })];
    const streamedJobs = [job('old', { submitted_at: at(8) }), job('new')];
    expect(merged(fetched, streamedJobs, {}, true)).toBe('new b');
    expect(merged(fetched, streamedJobs, {}, false)).toBe('new b old');
  });
});
