/** The order of an array's tasks: as numbered, or by a metric. Pure. */
import type { Task } from '@/api/types';

export interface Order {
  metric: string;
  direction: 'ascending' | 'descending';
}

/** Return the order after a click on a metric's heading: ascending, then descending, then by
 * number. */
export function nextOrder(order: Order | null, metric: string): Order | null {
  if (order?.metric !== metric) return { metric, direction: 'ascending' };
  return order.direction === 'ascending' ? { metric, direction: 'descending' } : null;
}

/** Sort the tasks; those without a value come last in both directions. */
export function sortTasks(tasks: readonly Task[], order: Order | null): readonly Task[] {
  if (order === null) return tasks;
  const value = (task: Task): number | null => task.metrics?.[order.metric] ?? null;
  const sign = order.direction === 'ascending' ? 1 : -1;
  return [...tasks].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * (left - right) || a.index - b.index;
  });
}
