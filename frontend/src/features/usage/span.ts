/** The range of a usage page, and whether it is shown by day or by month. Pure. */
import { dayOf, monthOf, plusMonths, type Range, rangeOf } from './months';
import type { Grouping, UsageSearch } from './search';

export type SpanChoice = 'days' | 'year' | 'months';
export type Step = 'day' | 'month';

export interface Span extends Range {
  choice: SpanChoice;
  step: Step;
}

const DAY_MS = 86_400_000;
const DAYS = 30;
const YEAR_MONTHS = 12;
/** Up to this many months are shown by day. */
const MAX_MONTHS_BY_DAY = 3;

/** Return which range the search has: months if it names any, else 30 days. */
export const choiceOf = ({ range, from, to }: UsageSearch): SpanChoice =>
  range ?? (from !== undefined || to !== undefined ? 'months' : 'days');

/** Return the range to show at a time. */
export function spanOf(search: UsageSearch, nowMs: number): Span {
  const choice = choiceOf(search);
  const month = monthOf(nowMs);
  if (choice === 'days')
    return { choice, step: 'day', from: dayOf(nowMs - (DAYS - 1) * DAY_MS), to: dayOf(nowMs) };
  if (choice === 'year')
    return { choice, step: 'month', from: plusMonths(month, 1 - YEAR_MONTHS), to: month };
  const range = rangeOf(search, month);
  const byDay = plusMonths(range.from, MAX_MONTHS_BY_DAY) > range.to;
  return { choice, step: byDay ? 'day' : 'month', ...range };
}

/** Return the search with another range; only months are named in it. */
export function withChoice(search: UsageSearch, choice: SpanChoice, nowMs: number): UsageSearch {
  const { range: _range, from: _from, to: _to, ...rest } = search;
  if (choice === 'days') return rest;
  if (choice === 'year') return { ...rest, range: 'year' };
  return { ...rest, ...rangeOf({}, monthOf(nowMs)) };
}

/** Return the first day of a range. */
export const firstDay = ({ from }: Range): string => (from.length === 7 ? `${from}-01` : from);

/** Return the rows' unit as in the API, where a period is its length: a day or a month. */
export const rowsBy = (by: Grouping, step: Step): Exclude<Grouping, 'period'> | Step =>
  by === 'period' ? step : by;
