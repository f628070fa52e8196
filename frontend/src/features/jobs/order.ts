/** The order of an array's tasks: as numbered, or by a metric. Pure. */
import type { Task } from '@/api/types';

export interface Order {
  metric: string;
  direction: 'ascending' | 'descending';
}

/** What a click on a metric's heading brings: smallest first, largest first, as numbered. */
export function reversed(order: Order | null, metric: string): Order | null {
  if (order?.metric !== metric) return { metric, direction: 'ascending' };
  return order.direction === 'ascending' ? { metric, direction: 'descending' } : null;
}

/** The tasks in that order; those without a value come last, whichever way. */
export function ordered(tasks: readonly Task[], order: Order | null): readonly Task[] {
  if (order === null) return tasks;
  const value = (task: Task): number | null => task.metrics?.[order.metric] ?? null;
  const sign = order.direction === 'ascending' ? 1 : -1;
  return [...tasks].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * (left - right) || a.index - b.index;
  });
}
