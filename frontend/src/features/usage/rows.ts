/** The rows of a usage table. Pure. */
import { locale } from '@/i18n';
import type { Grouping } from './search';

export interface Row {
  /** a user, a group, a Slurm account, a month or a day */
  name: string;
  gpu_hours: number;
  cpu_hours: number;
  jobs: number;
}

export type Column = keyof Row;

export interface Sorting {
  column: Column;
  descending: boolean;
}

/** Return the initial order: periods by date, others by the largest usage. */
export function initialSorting(by: Grouping): Sorting {
  return by === 'period'
    ? { column: 'name', descending: true }
    : { column: 'gpu_hours', descending: true };
}

/** Return the order after a click on a column's heading: numbers descend first, names ascend. */
export function nextSorting(now: Sorting, column: Column): Sorting {
  if (now.column === column) return { column, descending: !now.descending };
  return { column, descending: column !== 'name' };
}

const BY_NAME = new Intl.Collator('en', { numeric: true });

export function sortRows<T extends Row>(rows: readonly T[], { column, descending }: Sorting): T[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const difference = column === 'name' ? BY_NAME.compare(a.name, b.name) : a[column] - b[column];
    return sign * difference || BY_NAME.compare(a.name, b.name);
  });
}

export function filterRows<T extends Row>(rows: readonly T[], text: string): T[] {
  const query = text.trim().toLowerCase();
  return rows.filter(({ name }) => name.toLowerCase().includes(query));
}

export function totalOf(rows: readonly Row[]): Omit<Row, 'name'> {
  const total = { gpu_hours: 0, cpu_hours: 0, jobs: 0 };
  for (const row of rows) {
    total.gpu_hours += row.gpu_hours;
    total.cpu_hours += row.cpu_hours;
    total.jobs += row.jobs;
  }
  return total;
}

/** Return the length of each bar, 0 to 1, relative to the longest; by CPU-hours if no GPU was used. */
export function barLengths(rows: readonly Row[]): number[] {
  const column = rows.some((row) => row.gpu_hours > 0) ? 'gpu_hours' : 'cpu_hours';
  const most = Math.max(0, ...rows.map((row) => row[column]));
  return rows.map((row) => (most === 0 ? 0 : row[column] / most));
}

/** Smaller values are shown as zero. */
const LEAST = 0.05;

/** Format hours: "0", "<0.1", "0.4", "12", "1,204". */
export function hoursText(value: number, as: string = locale()): string {
  if (value > 0 && value < LEAST) return `<${(0.1).toLocaleString(as)}`;
  return value.toLocaleString(as, { maximumFractionDigits: value < 10 ? 1 : 0 });
}
