/** The order of an array's tasks: as numbered, or by a metric. Pure. */
import type { Task } from '@/api/types';

export interface TaskOrder {
  metric: string;
  direction: 'ascending' | 'descending';
}

/** Return the order after a click on a metric's column header: ascending, then descending, then by
 * number. */
export function nextOrder(order: TaskOrder | null, metric: string): TaskOrder | null {
  if (order?.metric !== metric) return { metric, direction: 'ascending' };
  return order.direction === 'ascending' ? { metric, direction: 'descending' } : null;
}

/** Return a task's last value of a metric; undefined if it has none. A tag may also be the name of an
 * inherited property, such as "constructor". */
export const metricValue = ({ metrics }: Task, tag: string): number | null | undefined =>
  metrics && Object.hasOwn(metrics, tag) ? metrics[tag] : undefined;

/** Sort the tasks; those without a value come last in both directions. */
export function sortTasks(tasks: readonly Task[], order: TaskOrder | null): readonly Task[] {
  if (order === null) return tasks;
  const value = (task: Task): number | null => metricValue(task, order.metric) ?? null;
  const sign = order.direction === 'ascending' ? 1 : -1;
  return [...tasks].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * (left - right) || a.index - b.index;
  });
}
