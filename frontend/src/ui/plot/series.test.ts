import { describe, expect, it } from 'vitest';
import {
  alignTables,
  breakGaps,
  findIsolated,
  pointRows,
  rangeChoices,
  rangeOf,
  upperBound,
} from './series';
import { PERCENT } from './units';

describe('gaps', () => {
  it('are broken where points are missing', () => {
    const table = { at: [0, 10, 60, 70], columns: [[1, 2, 3, 4]] };
    expect(breakGaps(table, 25)).toEqual({
      at: [0, 10, 22.5, 60, 70],
      columns: [[1, 2, null, 3, 4]],
    });
    expect(breakGaps(table, 50)).toEqual(table);
  });
});

describe('isolated points', () => {
  it('are those without a neighbor to draw a line to', () => {
    expect(findIsolated([1, null, 2, 3, null, 4])).toEqual([0, 5]);
    expect(findIsolated([null, 1, undefined, 2, null])).toEqual([]);
    expect(findIsolated([null, undefined, 1])).toEqual([2]);
    expect(findIsolated([])).toEqual([]);
  });
});

describe('aligned tables', () => {
  it('share their times, without breaking the lines', () => {
    const first = { at: [0, 10], columns: [[1, null]] };
    const second = { at: [5, 10], columns: [[7, 8]] };
    expect(alignTables([first, second])).toEqual({
      at: [0, 5, 10],
      columns: [
        [1, undefined, null],
        [undefined, 7, 8],
      ],
    });
  });

  it('are the table itself if it is alone', () => {
    const only = { at: [3], columns: [[1]] };
    expect(alignTables([only])).toBe(only);
    expect(alignTables([])).toEqual({ at: [], columns: [] });
  });
});

describe('ranges', () => {
  it('are those shorter than the series', () => {
    expect(rangeChoices([])).toEqual(['all']);
    expect(rangeChoices([0, 600])).toEqual(['all']);
    expect(rangeChoices([0, 2000, 4000])).toEqual([900, 3600, 'all']);
  });

  it('end with the last point', () => {
    expect(rangeOf([0, 4000], 900)).toEqual([3100, 4000]);
    expect(rangeOf([0, 4000], 'all')).toBeUndefined();
    expect(rangeOf([], 900)).toBeUndefined();
  });
});

describe('the upper bound of an axis', () => {
  it('follows the peak, and includes the largest possible value only if it is near', () => {
    expect(upperBound(10, 100, 1)).toBeCloseTo(11.5);
    expect(upperBound(50, 100, 1)).toBeCloseTo(105);
    expect(upperBound(200, 100, 1)).toBeCloseTo(230);
    expect(upperBound(0, 100, 1)).toBe(1);
    expect(upperBound(10, undefined, 1)).toBeCloseTo(11.5);
  });
});

describe('a chart as a table', () => {
  const series = [{ label: 'GPU', values: [10, undefined, null, 40] }];

  it('has its last point, the earlier value where a series has none, and a dash for a gap', () => {
    expect(pointRows([0, 10, 20, 30], series, PERCENT)).toEqual([
      [0, ['10 %']],
      [10, ['10 %']],
      [20, ['–']],
      [30, ['40 %']],
    ]);
    expect(pointRows([0, 10, 20, 30], series, PERCENT, [15, 30])).toHaveLength(2);
  });

  it('has no more rows than one can read', () => {
    const at = Array.from({ length: 240 }, (_, index) => index);
    const rows = pointRows(at, [{ label: 'GPU', values: at.map(() => null) }], PERCENT);
    expect(rows.length).toBeLessThanOrEqual(30);
    expect(rows.at(-1)).toEqual([239, ['–']]);
  });
});
