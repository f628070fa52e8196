/** Days as "2026-11-22", apart from what date fields need: addresses are parsed on every page. Pure. */

const ISO_DAY = /^(\d{4})-(\d{2})-(\d{2})$/;

export const utcOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);
export const toDay = (utc: number): string => new Date(utc).toISOString().slice(0, 10);

/** Return whether this is a day that exists. */
export const isDay = (text: string): boolean =>
  ISO_DAY.test(text) && !Number.isNaN(utcOf(text)) && toDay(utcOf(text)) === text;

/** Return the time at which a day, or one some days later, begins in the reader's time zone. */
export function startOfDay(day: string, daysLater = 0): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + daysLater).toISOString();
}
