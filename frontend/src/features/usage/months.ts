/** Months of the calendar, as 2026-11. Pure. */
import { locale } from '@/i18n';

/** The month of a moment, by UTC, as usage is counted. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** `by` months later; negative for earlier. */
export function plusMonths(month: string, by: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return monthOf(Date.UTC(year, number - 1 + by, 1));
}

/** From the newest back, `count` of them. */
export function lastMonths(newest: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => plusMonths(newest, -index));
}

/** "November 2026". */
export function monthText(month: string, as: string = locale()): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1, 1)).toLocaleDateString(as, {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
}

export interface Range {
  from: string;
  to: string;
}

/** What is shown when the address says nothing: the last three months, or what it does say, the
 * earlier month first. */
export function rangeOf(search: Partial<Range>, thisMonth: string): Range {
  const to = search.to ?? (search.from && search.from > thisMonth ? search.from : thisMonth);
  const from = search.from ?? plusMonths(to, -2);
  return from <= to ? { from, to } : { from: to, to: from };
}
