/** Calendar months, as 2026-11, and days, as 2026-11-22. Pure. */
import { locale } from '@/i18n';

/** Return the month of a time in UTC, like usage is recorded. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** Return the month `by` months later; negative for earlier. */
export function plusMonths(month: string, by: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number - 1 + by, 1));
}

/** Return `count` months, from the newest back. */
export function lastMonths(newest: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => plusMonths(newest, -index));
}

/** Format a month: "November 2026". */
export function monthText(month: string, as: string = locale()): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1, 1)).toLocaleDateString(as, {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
}

/** Return the day of a time in UTC, like usage is recorded. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Format a day: "Nov 22". */
export const dayText = (day: string, as: string = locale()): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString(as, {
    month: 'short',
    day: 'numeric',
    timeZone: 'UTC',
  });

/** Format a month for an axis: "Nov", with the year in January. */
export function monthShort(month: string, as: string = locale()): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString(as, {
    month: 'short',
    ...(month.endsWith('-01') && { year: 'numeric' }),
    timeZone: 'UTC',
  });
}

/** Months or days, both inclusive. */
export interface Range {
  from: string;
  to: string;
}

/** Return the range to show: the address's, the earlier month first; by default the last three
 * months. */
export function rangeOf(search: Partial<Range>, thisMonth: string): Range {
  const to = search.to ?? (search.from && search.from > thisMonth ? search.from : thisMonth);
  const from = search.from ?? plusMonths(to, -2);
  return from <= to ? { from, to } : { from: to, to: from };
}
