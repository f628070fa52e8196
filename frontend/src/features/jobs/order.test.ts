import { describe, expect, it } from 'vitest';
import type { Task } from '@/api/types';
import { metricValue, nextOrder, sortTasks } from './order';

const task = (index: number, metrics: Task['metrics']): Task => ({
  index,
  state: 'ended',
  parameters: {},
  metrics,
  so_far: false,
});

const TASKS = [
  task(0, { loss: 0.3 }),
  task(1, null),
  task(2, { loss: 0.1 }),
  task(3, { loss: null }),
];
const indices = (tasks: readonly Task[]): number[] => tasks.map(({ index }) => index);

it('a task has no metric that is merely a property of all objects', () => {
  expect(metricValue(task(0, { loss: 0.3 }), 'constructor')).toBeUndefined();
  expect(metricValue(task(0, { constructor: 1 }), 'constructor')).toBe(1);
  expect(metricValue(task(0, null), 'loss')).toBeUndefined();
});

describe('the order of tasks', () => {
  it('cycles from number to ascending to descending', () => {
    const up = nextOrder(null, 'loss');
    expect(up).toEqual({ metric: 'loss', direction: 'ascending' });
    const down = nextOrder(up, 'loss');
    expect(down).toEqual({ metric: 'loss', direction: 'descending' });
    expect(nextOrder(down, 'loss')).toBeNull();
    expect(nextOrder(down, 'accuracy')).toEqual({ metric: 'accuracy', direction: 'ascending' });
  });

  it('has tasks without a value last in both directions', () => {
    expect(indices(sortTasks(TASKS, null))).toEqual([0, 1, 2, 3]);
    expect(indices(sortTasks(TASKS, { metric: 'loss', direction: 'ascending' }))).toEqual([
      2, 0, 1, 3,
    ]);
    expect(indices(sortTasks(TASKS, { metric: 'loss', direction: 'descending' }))).toEqual([
      0, 2, 1, 3,
    ]);
  });
});
