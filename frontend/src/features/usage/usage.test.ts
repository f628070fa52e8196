import { describe, expect, it } from 'vitest';
import { lastMonths, monthText, plusMonths, rangeOf } from './months';
import { filtered, firstSorting, hours, pressed, type Row, shares, sorted, totalOf } from './rows';
import { readUsageSearch } from './search';

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
  it('go over the turn of a year', () => {
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

  it('are read from an address, whatever stands there', () => {
    expect(readUsageSearch({ from: '2026-13', to: '2026-1', by: 'week' })).toEqual({});
    expect(readUsageSearch({ from: '2026-01', by: 'month' })).toEqual({
      from: '2026-01',
      by: 'month',
    });
    expect(readUsageSearch({ person: 'alice' })).toEqual({ q: 'alice' });
    expect(readUsageSearch({ group: 'vision' })).toEqual({ by: 'group', q: 'vision' });
  });
});

describe('rows', () => {
  it('begin with those that used most, months with the newest', () => {
    expect(names(sorted(ROWS, firstSorting('user')))).toBe('alice bob u10 u9');
    const months = [row('2026-09', 1), row('2026-11', 0), row('2026-10', 5)];
    expect(names(sorted(months, firstSorting('month')))).toBe('2026-11 2026-10 2026-09');
  });

  it('are sorted by the heading that is pressed, the other way at the second press', () => {
    const first = pressed(firstSorting('user'), 'jobs');
    expect(names(sorted(ROWS, first))).toBe('u9 bob alice u10');
    expect(pressed(first, 'jobs').descending).toBe(false);
    expect(names(sorted(ROWS, pressed(first, 'name')))).toBe('alice bob u9 u10');
  });

  it('have a sum, and bars against the longest', () => {
    expect(totalOf(ROWS)).toEqual({ gpu_hours: 16.5, cpu_hours: 18, jobs: 12 });
    expect(shares([row('a', 5), row('b', 10)])).toEqual([0.5, 1]);
    expect(shares([row('a', 0, 1), row('b', 0, 4)])).toEqual([0.25, 1]);
    expect(shares([row('a', 0)])).toEqual([0]);
    expect(shares([])).toEqual([]);
  });

  it('are found by a part of their name', () => {
    expect(names(filtered(ROWS, ' U1'))).toBe('u10');
    expect(filtered(ROWS, '')).toHaveLength(4);
  });
});

describe('hours', () => {
  it.each([
    [0, '0'],
    [0.003, '<0.1'],
    [0.44, '0.4'],
    [12.4, '12'],
    [1204.5, '1,205'],
  ])('%f: %s', (value, text) => expect(hours(value, 'en')).toBe(text));
});
