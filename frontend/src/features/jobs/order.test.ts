import { describe, expect, it } from 'vitest';
import type { Task } from '@/api/types';
import { ordered, reversed } from './order';

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

describe('the order of tasks', () => {
  it('is by number, then smallest first, then largest first, and back', () => {
    const up = reversed(null, 'loss');
    expect(up).toEqual({ metric: 'loss', direction: 'ascending' });
    const down = reversed(up, 'loss');
    expect(down).toEqual({ metric: 'loss', direction: 'descending' });
    expect(reversed(down, 'loss')).toBeNull();
    expect(reversed(down, 'accuracy')).toEqual({ metric: 'accuracy', direction: 'ascending' });
  });

  it('has those without a number last, whichever way', () => {
    expect(indices(ordered(TASKS, null))).toEqual([0, 1, 2, 3]);
    expect(indices(ordered(TASKS, { metric: 'loss', direction: 'ascending' }))).toEqual([
      2, 0, 1, 3,
    ]);
    expect(indices(ordered(TASKS, { metric: 'loss', direction: 'descending' }))).toEqual([
      0, 2, 1, 3,
    ]);
  });
});
