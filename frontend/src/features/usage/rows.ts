/** What was used, in rows. Pure. */
import { locale } from '@/i18n';
import type { By } from './search';

export interface Row {
  /** a user, a group or a month */
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

/** Months in their order, all else by what was used most. */
export function firstSorting(by: By): Sorting {
  return by === 'month'
    ? { column: 'name', descending: true }
    : { column: 'gpu_hours', descending: true };
}

/** After a column's heading was pressed: numbers begin with the largest, names with A. */
export function pressed(now: Sorting, column: Column): Sorting {
  if (now.column === column) return { column, descending: !now.descending };
  return { column, descending: column !== 'name' };
}

const BY_NAME = new Intl.Collator('en', { numeric: true });

export function sorted<T extends Row>(rows: readonly T[], { column, descending }: Sorting): T[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const difference = column === 'name' ? BY_NAME.compare(a.name, b.name) : a[column] - b[column];
    return sign * difference || BY_NAME.compare(a.name, b.name);
  });
}

export function filtered<T extends Row>(rows: readonly T[], text: string): T[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter(({ name }) => name.toLowerCase().includes(wanted));
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

/** How long each bar is, 0 to 1, against the longest; by CPU-hours where no GPU was used at all. */
export function shares(rows: readonly Row[]): number[] {
  const column = rows.some((row) => row.gpu_hours > 0) ? 'gpu_hours' : 'cpu_hours';
  const most = Math.max(0, ...rows.map((row) => row[column]));
  return rows.map((row) => (most === 0 ? 0 : row[column] / most));
}

/** Less than this shows as nothing. */
const LEAST = 0.05;

/** "0", "<0.1", "0.4", "12", "1,204": as many digits as one wants to know. */
export function hours(value: number, as: string = locale()): string {
  if (value > 0 && value < LEAST) return `<${(0.1).toLocaleString(as)}`;
  return value.toLocaleString(as, { maximumFractionDigits: value < 10 ? 1 : 0 });
}
