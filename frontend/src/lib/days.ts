/** Days of the reader's calendar, as "2026-11-22", and the texts of date fields. All but the time of
 * day is computed in UTC, where each day has 24 hours. Pure. */

import { twoDigits } from './durations';
import { isDay, toDay, utcOf } from './isoDays';

const DAY_MS = 24 * 60 * 60 * 1000;
const ISO_MOMENT = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})$/;
const EARLIEST_YEAR = 1000;

/** Return whether this is a day with a time, as "2026-11-22T06:00". */
export function isMoment(text: string): boolean {
  const [, day = '', time = ''] = ISO_MOMENT.exec(text) ?? [];
  return isDay(day) && time < '24' && time.slice(3) < '60';
}

/** Return the day in the reader's time zone. */
export const dayAt = (at: Date): string =>
  `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;

export const addDays = (day: string, days: number): string => toDay(utcOf(day) + days * DAY_MS);

/** Return the same day of another month, or its last one. */
export function addMonths(day: string, months: number): string {
  const at = new Date(utcOf(day));
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth() + months];
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return toDay(Date.UTC(year, month, Math.min(at.getUTCDate(), last)));
}

/** Return the weekday on which weeks begin: 0 is Sunday. */
export function firstWeekday(locale: string): number {
  const { weekInfo, getWeekInfo } = new Intl.Locale(locale) as Intl.Locale & {
    weekInfo?: { firstDay: number };
    getWeekInfo?: () => { firstDay: number };
  };
  const info = getWeekInfo?.call(new Intl.Locale(locale)) ?? weekInfo;
  return (info?.firstDay ?? 1) % 7;
}

/** Return the weeks that a month's calendar shows; the first and last may include days of the adjacent
 * months. */
export function weeksOf(day: string, firstDay: number): string[][] {
  const first = `${day.slice(0, 8)}01`;
  const before = (new Date(utcOf(first)).getUTCDay() - firstDay + 7) % 7;
  const start = addDays(first, -before);
  const end = addMonths(first, 1);
  const weeks: string[][] = [];
  for (let week = start; week < end; week = addDays(week, 7))
    weeks.push(Array.from({ length: 7 }, (_, index) => addDays(week, index)));
  return weeks;
}

/** Format a day with the locale's names. */
export const dayIn = (locale: string, day: string, options: Intl.DateTimeFormatOptions): string =>
  new Date(utcOf(day)).toLocaleDateString(locale, { ...options, timeZone: 'UTC' });

const NUMBERS = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const CLOCK = { hour: '2-digit', minute: '2-digit' } as const;

function formatter(locale: string, hasTime: boolean): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, {
    ...NUMBERS,
    ...(hasTime && CLOCK),
    timeZone: 'UTC',
    numberingSystem: 'latn',
    calendar: 'gregory',
  });
}

/** Format a day or moment for a field; other texts, which the reader has typed, stay. */
export function fieldText(locale: string, value: string): string {
  const hasTime = isMoment(value);
  if (!hasTime && !isDay(value)) return value;
  return formatter(locale, hasTime).format(Date.parse(hasTime ? `${value}:00Z` : value));
}

const LETTERS: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {
  year: 'YYYY',
  month: 'MM',
  day: 'DD',
  hour: 'hh',
  minute: 'mm',
};

/** Return the format of a field, as "DD/MM/YYYY". */
export const fieldFormat = (locale: string, hasTime: boolean): string =>
  formatter(locale, hasTime)
    .formatToParts(0)
    .map(({ type, value }) => LETTERS[type] ?? value)
    .join('');

/** Return the name of the half of the day in a locale's clock; undefined in one of 24 hours. */
function halfOfDay(locale: string, hour: number): string | undefined {
  const parts = formatter(locale, true).formatToParts(Date.UTC(2026, 0, 1, hour));
  return parts.find(({ type }) => type === 'dayPeriod')?.value.toLowerCase();
}

/** Return the hour of 24 that was typed with a locale's clock; null if there is none. */
function readHour(locale: string, text: string, hour: number): number | null {
  const lower = text.toLowerCase();
  const [am, pm] = [halfOfDay(locale, 1), halfOfDay(locale, 13)];
  const isMorning = am !== undefined && lower.includes(am);
  const isEvening = pm !== undefined && lower.includes(pm);
  if (!isMorning && !isEvening) return hour < 24 ? hour : null;
  if (hour < 1 || hour > 12) return null;
  return (hour % 12) + (isEvening ? 12 : 0);
}

/** Read a day or moment that was typed as the locale writes it, or as 2026-11-22; null if it is
 * none. */
export function readField(locale: string, text: string, hasTime: boolean): string | null {
  const numbers = (text.match(/\d+/g) ?? []).map(Number);
  if (numbers.length !== (hasTime ? 5 : 3)) return null;
  const isIso = /^\s*\d{4}\D/.test(text);
  const order = isIso
    ? ['year', 'month', 'day']
    : formatter(locale, false)
        .formatToParts(0)
        .map(({ type }) => type)
        .filter((type) => type !== 'literal');
  const numberOf = (part: string): number => numbers[order.indexOf(part)] ?? 0;
  if (numberOf('year') < EARLIEST_YEAR) return null;
  const day = `${numberOf('year')}-${twoDigits(numberOf('month'))}-${twoDigits(numberOf('day'))}`;
  if (!hasTime) return isDay(day) ? day : null;
  const hour = readHour(locale, text, numbers[3] ?? 0);
  if (hour === null) return null;
  const moment = `${day}T${twoDigits(hour)}:${twoDigits(numbers[4] ?? 0)}`;
  return isMoment(moment) ? moment : null;
}
