import { describe, expect, it } from 'vitest';
import type { UsageHistory } from '@/api/types';
import { initialMeasure, nameText, periodTexts, usageSeries } from './chart';
import { dayOf, dayText, lastMonths, monthShort, monthText, plusMonths, rangeOf } from './months';
import {
  barLengths,
  filterRows,
  hoursText,
  initialSorting,
  nextSorting,
  type Row,
  sortRows,
  totalOf,
} from './rows';
import { readUsageSearch } from './search';
import { choiceOf, firstDay, rowsBy, spanOf, withChoice } from './span';

const row = (name: string, gpu_hours: number, cpu_hours = 0, jobs = 0): Row => ({
  name,
  gpu_hours,
  cpu_hours,
  jobs,
});
const ROWS = [
  row('bob', 2, 8, 3),
  row('u10', 2, 9, 1),
  row('u9', 0.5, 1, 7),
  row('alice', 12, 0, 1),
];
const names = (rows: Row[]): string => rows.map(({ name }) => name).join(' ');

describe('months', () => {
  it('cross the end of a year', () => {
    expect(plusMonths('2026-01', -1)).toBe('2025-12');
    expect(plusMonths('2026-12', 1)).toBe('2027-01');
    expect(lastMonths('2026-02', 3)).toEqual(['2026-02', '2026-01', '2025-12']);
    expect(monthText('2026-02', 'en')).toBe('February 2026');
  });

  it('are the last three unless the address has more', () => {
    expect(rangeOf({}, '2026-11')).toEqual({ from: '2026-09', to: '2026-11' });
    expect(rangeOf({ from: '2026-11', to: '2026-02' }, '2026-11')).toEqual({
      from: '2026-02',
      to: '2026-11',
    });
    expect(rangeOf({ from: '2027-01' }, '2026-11')).toEqual({ from: '2027-01', to: '2027-01' });
    expect(rangeOf({ to: '2025-01' }, '2026-11')).toEqual({ from: '2024-11', to: '2025-01' });
  });

  it('are parsed from any address', () => {
    expect(readUsageSearch({ from: '2026-13', to: '2026-1', by: 'week' })).toEqual({});
    const byPeriod = { from: '2026-01', by: 'period' };
    expect(readUsageSearch(byPeriod)).toEqual(byPeriod);
    expect(readUsageSearch({ from: '2026-01', by: 'month' })).toEqual(byPeriod);
    expect(readUsageSearch({ person: 'alice' })).toEqual({ q: 'alice' });
    expect(readUsageSearch({ group: 'vision' })).toEqual({ by: 'group', q: 'vision' });
    expect(readUsageSearch({ range: 'year', by: 'account' })).toEqual({
      range: 'year',
      by: 'account',
    });
    expect(readUsageSearch({ range: 'days', by: 'user' })).toEqual({});
  });

  it('and days have short names', () => {
    expect(dayOf(Date.parse('2026-11-30T23:59:59Z'))).toBe('2026-11-30');
    expect(dayText('2026-11-30', 'en')).toBe('Nov 30');
    expect([monthShort('2025-12', 'en'), monthShort('2026-01', 'en')]).toEqual(['Dec', 'Jan 2026']);
  });
});

describe('the range of a page', () => {
  const now = Date.parse('2026-11-22T10:00:00Z');

  it('is 30 days by day, 12 months by month, or the months of the address', () => {
    expect(spanOf({}, now)).toEqual({
      choice: 'days',
      step: 'day',
      from: '2026-10-24',
      to: '2026-11-22',
    });
    expect(spanOf({ range: 'year' }, now)).toMatchObject({
      step: 'month',
      from: '2025-12',
      to: '2026-11',
    });
    expect(spanOf({ from: '2026-09' }, now)).toMatchObject({ choice: 'months', step: 'day' });
    expect(spanOf({ from: '2026-08' }, now)).toMatchObject({ step: 'month', from: '2026-08' });
  });

  it('changes without the rest of the address', () => {
    const months = withChoice({ by: 'group', range: 'year' }, 'months', now);
    expect(months).toEqual({ by: 'group', from: '2026-09', to: '2026-11' });
    expect(choiceOf(months)).toBe('months');
    expect(withChoice(months, 'year', now)).toEqual({ by: 'group', range: 'year' });
    expect(withChoice(months, 'days', now)).toEqual({ by: 'group' });
  });

  it('has a first day, and rows by its step', () => {
    expect(firstDay({ from: '2026-11', to: '2026-11' })).toBe('2026-11-01');
    expect(firstDay({ from: '2026-11-03', to: '2026-11' })).toBe('2026-11-03');
    expect([rowsBy('period', 'day'), rowsBy('account', 'day')]).toEqual(['day', 'account']);
  });
});

describe('the chart', () => {
  const history: UsageHistory = {
    by: 'account',
    step: 'month',
    measure: 'gpu_hours',
    periods: ['2025-12', '2026-01'],
    series: [
      { name: 'research', hours: [null, 3] },
      { name: '', hours: [null, 1] },
    ],
    others: [null, 0.5],
    as_of: null,
    counted_from: null,
  };

  it('has the others last, and names usage without an account', () => {
    const labels = ['research', '(no Slurm account)', 'Others'];
    expect(usageSeries(history).map(({ label }) => label)).toEqual(labels);
    expect(usageSeries({ ...history, others: null })).toHaveLength(2);
    expect(nameText('a')).toBe('a');
  });

  it('names its periods', () => {
    expect(periodTexts(history)).toEqual({
      short: ['Dec', 'Jan 2026'],
      full: ['December 2025', 'January 2026'],
    });
    expect(periodTexts({ step: 'day', periods: ['2026-11-30'] })).toEqual({
      short: ['Nov 30'],
      full: ['2026-11-30'],
    });
  });

  it('begins with CPU-hours where no GPU was used', () => {
    expect(initialMeasure([row('a', 1, 8)])).toBe('gpu_hours');
    expect(initialMeasure([row('a', 0, 8)])).toBe('cpu_hours');
    expect(initialMeasure([])).toBe('gpu_hours');
  });
});

describe('rows', () => {
  it('begin with the largest usage, months with the newest', () => {
    expect(names(sortRows(ROWS, initialSorting('user')))).toBe('alice bob u10 u9');
    const months = [row('2026-09', 1), row('2026-11', 0), row('2026-10', 5)];
    expect(names(sortRows(months, initialSorting('period')))).toBe('2026-11 2026-10 2026-09');
  });

  it('are sorted by the clicked heading, reversed by a second click', () => {
    const first = nextSorting(initialSorting('user'), 'jobs');
    expect(names(sortRows(ROWS, first))).toBe('u9 bob alice u10');
    expect(nextSorting(first, 'jobs').descending).toBe(false);
    expect(names(sortRows(ROWS, nextSorting(first, 'name')))).toBe('alice bob u9 u10');
  });

  it('have a total, and bars relative to the longest', () => {
    expect(totalOf(ROWS)).toEqual({ gpu_hours: 16.5, cpu_hours: 18, jobs: 12 });
    expect(barLengths([row('a', 5), row('b', 10)])).toEqual([0.5, 1]);
    expect(barLengths([row('a', 0, 1), row('b', 0, 4)])).toEqual([0.25, 1]);
    expect(barLengths([row('a', 0)])).toEqual([0]);
    expect(barLengths([])).toEqual([]);
  });

  it('are filtered by a part of their name', () => {
    expect(names(filterRows(ROWS, ' U1'))).toBe('u10');
    expect(filterRows(ROWS, '')).toHaveLength(4);
  });
});

describe('hours', () => {
  it.each([
    [0, '0'],
    [0.003, '<0.1'],
    [0.44, '0.4'],
    [12.4, '12'],
    [1204.5, '1,205'],
  ])('%f: %s', (value, text) => expect(hoursText(value, 'en')).toBe(text));
});
