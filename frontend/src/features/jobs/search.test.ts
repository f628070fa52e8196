import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/types';
import { doneText, questionText } from './bulkLabels';
import { isFiltered, matches, readJobsSearch, toQuery } from './search';
import {
  actionTargets,
  isChosen,
  MAX_IDS_PER_REQUEST,
  NOTHING,
  selectedJobs,
  toBatches,
  toggled,
} from './selection';

const job = (over: Partial<Job> = {}): Job =>
  ({
    id: 'a',
    name: 'MNIST-2',
    state: 'running',
    outcome: null,
    template: 'keras',
    job_id: 42,
    submitted_at: '2026-01-05T10:00:00Z',
    ended_at: null,
    ...over,
  }) as Job;
const ended = (outcome: Job['outcome']): Job =>
  job({ state: 'ended', outcome, ended_at: '2026-01-05T11:00:00Z' });

describe('the address of the list', () => {
  it('keeps valid parameters', () => {
    const search = { state: 'failed', q: 7, template: '-', since: '2026-01-02', order: 'name' };
    expect(readJobsSearch(search)).toEqual({ ...search, q: '7' });
    expect(isFiltered(readJobsSearch(search))).toBe(true);
  });

  it('keeps the column of an order by value, and of no other', () => {
    const search = { order: 'value', by: 'metric:val/loss' };
    expect(readJobsSearch(search)).toEqual(search);
    expect(readJobsSearch({ order: 'name', by: 'metric:loss' })).toEqual({ order: 'name' });
    for (const by of ['metric:', 'node', 7, undefined])
      expect(readJobsSearch({ order: 'value_up', by })).toEqual({});
    expect(isFiltered({ order: 'value', by: 'metric:loss' })).toBe(false);
  });

  it('drops invalid parameters, and counts the order as no filter', () => {
    const search = { state: 'gone', q: ' ', since: 'yesterday', order: 'newest', template: [1] };
    expect(readJobsSearch(search)).toEqual({});
    expect(isFiltered({ order: 'ended' })).toBe(false);
  });
});

describe('the API parameters', () => {
  it('follow from the filters', () => {
    expect(toQuery({})).toEqual({ state: 'all', outcome: [] });
    expect(toQuery({ state: 'waiting', q: 'x' })).toEqual({
      state: 'waiting',
      outcome: [],
      q: 'x',
    });
    expect(toQuery({ state: 'cancelled', template: '-' })).toEqual({
      state: 'ended',
      outcome: ['cancelled'],
      template: '',
    });
    expect(toQuery({ state: 'failed' }).outcome).toHaveLength(4);
    expect(toQuery({ since: '2026-03-02' }).since).toBe(new Date(2026, 2, 2).toISOString());
  });
});

describe('matches', () => {
  it('finds parts of names, and whole job ids', () => {
    expect(matches(job(), { q: 'mnist' })).toBe(true);
    expect(matches(job(), { q: '42' })).toBe(true);
    expect(matches(job({ job_id: 142 }), { q: '42' })).toBe(false);
  });

  it('leaves out jobs without the time that they are sorted by', () => {
    const started = { started_at: '2026-01-01T00:00:00Z' };
    expect(matches(job(started), { order: 'started' })).toBe(true);
    expect(matches(job(started), { order: 'duration' })).toBe(false);
    const over = { ...started, ended_at: '2026-01-01T00:01:00Z' };
    expect(matches(job(over), { order: 'duration_up' })).toBe(true);
  });

  it('distinguishes states and outcomes', () => {
    expect(matches(job(), { state: 'running' })).toBe(true);
    expect(matches(job({ state: 'queued' }), { state: 'running' })).toBe(false);
    expect(matches(job({ state: 'queued' }), { state: 'waiting' })).toBe(true);
    expect(matches(job(), { state: 'live' })).toBe(true);
    expect(matches(job(), { state: 'ended' })).toBe(false);
    expect(matches(ended('timeout'), { state: 'ended' })).toBe(true);
    expect(matches(ended('timeout'), { state: 'failed' })).toBe(true);
    expect(matches(ended('timeout'), { state: 'completed' })).toBe(false);
    expect(matches(ended('completed'), { state: 'live' })).toBe(false);
  });

  it('filters by template and day, and by end time only ended jobs', () => {
    expect(matches(job(), { template: 'keras' })).toBe(true);
    expect(matches(job(), { template: '-' })).toBe(false);
    expect(matches(job({ template: null }), { template: '-' })).toBe(true);
    expect(matches(job(), { since: '2026-01-04' })).toBe(true);
    expect(matches(job(), { since: '2026-02-01' })).toBe(false);
    expect(matches(job(), { order: 'ended' })).toBe(false);
    expect(matches(ended('failed'), { order: 'ended' })).toBe(true);
  });
});

describe('a selection', () => {
  const rows = [job(), job({ id: 'b', state: 'ended' }), job({ id: 'c', state: 'stopping' })];

  it('toggles single jobs, also out of all', () => {
    const selection = toggled(NOTHING, 'a', rows);
    expect(selectedJobs(selection, rows).map(({ id }) => id)).toEqual(['a']);
    expect(toggled(selection, 'a', rows)).toEqual(NOTHING);
    const all = { kind: 'all', until: '2026-01-01T00:00:00Z' } as const;
    expect(isChosen(all, 'whatever')).toBe(true);
    expect(selectedJobs(toggled(all, 'a', rows), rows).map(({ id }) => id)).toEqual(['b', 'c']);
  });

  it('drops jobs that have left the list', () => {
    expect(selectedJobs({ kind: 'some', ids: new Set(['gone']) }, rows)).toEqual([]);
  });

  it('lists the jobs that each action applies to', () => {
    const targets = actionTargets(rows);
    expect(targets.cancel.map(({ id }) => id)).toEqual(['a']);
    expect(targets.remove.map(({ id }) => id)).toEqual(['b']);
    expect(questionText('cancel', targets, 3)).toBe(
      '1 job: queued jobs lose their place in the queue, and running jobs end now. The other 2 stay as they are.',
    );
    expect(questionText('remove', null, 1200)).toContain('1,200 jobs');
    expect(doneText('cancel', 1)).toBe('1 job cancelled.');
  });

  it('is split into several requests', () => {
    const ids = Array.from({ length: MAX_IDS_PER_REQUEST + 1 }, (_, n) => String(n));
    expect(toBatches(ids).map(({ length }) => length)).toEqual([MAX_IDS_PER_REQUEST, 1]);
    expect(toBatches([])).toEqual([]);
  });
});
