import { describe, expect, it } from 'vitest';
import type { Job, Task } from '@/api/types';
import { jobsOf, NO_FOLDS, seriesOf, tableRows, toggledFold } from './tableRows';

const job = (id: string, over: Partial<Job> = {}): Job =>
  ({ id, name: id, template: null, array: null, ...over }) as Job;
const task = (index: number): Task => ({ index, state: 'ended' }) as Task;
const NO_TASKS = new Map<string, Task[]>();

const shape = (rows: ReturnType<typeof tableRows>): string[] =>
  rows.map((row) => (row.kind === 'group' ? `${row.group || '-'} (${row.jobs.length})` : row.key));

describe('rows', () => {
  const jobs = [job('a', { template: 't' }), job('b'), job('c', { template: 't' })];

  it('are the jobs without grouping', () => {
    expect(shape(tableRows(jobs, undefined, NO_FOLDS, NO_TASKS))).toEqual(['a', 'b', 'c']);
  });

  it('come in groups with their numbers, in the order of their first jobs', () => {
    const rows = tableRows(jobs, 'template', NO_FOLDS, NO_TASKS);
    expect(shape(rows)).toEqual(['t (2)', 'a', 'c', '- (1)', 'b']);
    expect(jobsOf(rows).map(({ id }) => id)).toEqual(['a', 'c', 'b']);
  });

  it('hide the jobs of a folded group', () => {
    const folds = toggledFold(NO_FOLDS, 'groups', 't');
    const rows = tableRows(jobs, 'template', folds, NO_TASKS);
    expect(shape(rows)).toEqual(['t (2)', '- (1)', 'b']);
    const unfolded = toggledFold(folds, 'groups', 't');
    expect(shape(tableRows(jobs, 'template', unfolded, NO_TASKS))).toHaveLength(5);
  });

  it('unfold an array into its tasks once they are known', () => {
    const array = job('a', { array: { size: 2, counts: {}, tasks: [] } });
    const folds = toggledFold(NO_FOLDS, 'arrays', 'a');
    expect(shape(tableRows([array], undefined, NO_FOLDS, NO_TASKS))).toEqual(['a']);
    expect(shape(tableRows([array], undefined, folds, NO_TASKS))).toEqual(['a', 'a:loading']);
    const tasks = new Map([['a', [task(0), task(1)]]]);
    expect(shape(tableRows([array], undefined, folds, tasks))).toEqual(['a', 'a:0', 'a:1']);
  });
});

it.each([
  ['sweep-12', 'sweep'],
  ['lr 0.01', 'lr'],
  ['run (3)', 'run'],
  ['seed=7', 'seed'],
  ['2024', '2024'],
  ['plain', 'plain'],
  ['训练 5', '训练'],
])('the series of %s is %s', (name, series) => {
  expect(seriesOf(name)).toBe(series);
});
