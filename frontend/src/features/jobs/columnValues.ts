/** The columns of the jobs' own values: parameters of their templates and metrics. Pure. */
import type { Job } from '@/api/types';

const PARAMETER = 'param:';
const METRIC = 'metric:';

export const parameterColumn = (name: string): string => PARAMETER + name;
export const metricColumn = (tag: string): string => METRIC + tag;

/** Return the name of a column's parameter; null if it isn't the column of one. */
export const parameterOf = (id: string): string | null =>
  id.startsWith(PARAMETER) ? id.slice(PARAMETER.length) : null;

/** Return the tag of a column's metric; null if it isn't the column of one. */
export const metricOf = (id: string): string | null =>
  id.startsWith(METRIC) ? id.slice(METRIC.length) : null;

/** The longest id that the portal stores and sorts by. */
export const LONGEST_ID = 120;

/** Return whether this is a column of the jobs' own values by which the portal sorts. */
export const isSortableOwnColumn = (id: string): boolean =>
  id.length <= LONGEST_ID && Boolean(parameterOf(id) ?? metricOf(id));

/** Return the value by which the portal sorts a job, a number or a text; null if the job has none. */
export function columnValue(
  { parameters, metrics }: Pick<Job, 'parameters' | 'metrics'>,
  id: string,
): number | string | null {
  const tag = metricOf(id);
  const values: Readonly<Record<string, unknown>> = (tag === null ? parameters : metrics) ?? {};
  const key = tag ?? parameterOf(id) ?? '';
  const value = Object.hasOwn(values, key) ? values[key] : null;
  if (value === null || value === undefined) return null;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}
