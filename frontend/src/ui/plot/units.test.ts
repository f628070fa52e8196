import { describe, expect, it } from 'vitest';
import { axisText, busyCpusText, MEMORY, PERCENT, tickText, timeFormat } from './units';

describe('units', () => {
  it('show tiny usage as nearly zero', () => {
    expect([0, 0.01, 0.05, 0.51, 9.94, 31.6].map(busyCpusText)).toEqual([
      '0',
      'less than 0.1',
      '0.1',
      '0.5',
      '9.9',
      '32',
    ]);
  });

  it('have no unit at zero of an axis', () => {
    expect(axisText(0, MEMORY)).toBe('0');
    expect(axisText(1536, MEMORY)).toBe('1.5 GB');
    expect(axisText(50, PERCENT)).toBe('50 %');
  });
});

describe('ticks of a time axis', () => {
  it('show seconds only if they differ, and no time of day if days apart', () => {
    const noon = Date.parse('2026-11-22T12:00:00') / 1000;
    expect(tickText(noon + 5, 5)).toMatch(/:05/);
    expect(tickText(noon, 60)).not.toMatch(/:\d\d:/);
    expect(tickText(noon, 86_400)).not.toContain(':');
  });
});

describe('times of measurements', () => {
  it('show seconds if they cover less than an hour', () => {
    const noon = Date.parse('2026-11-22T12:00:07') / 1000;
    expect(timeFormat([noon, noon + 60])(noon)).toMatch(/:07/);
    expect(timeFormat([noon, noon + 7200])(noon)).not.toMatch(/:07/);
    expect(timeFormat([])(noon)).toMatch(/:07/);
  });
});
