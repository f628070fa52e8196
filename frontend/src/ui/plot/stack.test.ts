import { describe, expect, it } from 'vitest';
import { labeledPeriods, stackTops, sumOf } from './stack';

describe('stacked bars', () => {
  it('begin where the one below ends', () => {
    const series = [
      { label: 'alice', values: [1, 2, null] },
      { label: 'bob', values: [3, 0, null] },
      { label: 'carol', values: [null, 4, null] },
    ];
    expect(stackTops(series)).toEqual([
      [1, 2, null],
      [4, 2, null],
      [4, 6, null],
    ]);
    expect(stackTops([])).toEqual([]);
  });

  it('have a total that leaves out the unknown', () => {
    expect(sumOf([1, null, 2.5])).toBe(3.5);
    expect(sumOf([null])).toBe(0);
  });

  it('have as many labels as fit, the last one included', () => {
    expect(labeledPeriods(12, 12)).toHaveLength(12);
    expect(labeledPeriods(30, 8)).toEqual([1, 5, 9, 13, 17, 21, 25, 29]);
    expect(labeledPeriods(3, 0)).toEqual([2]);
    expect(labeledPeriods(0, 5)).toEqual([]);
  });
});
