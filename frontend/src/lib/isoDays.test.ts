import { describe, expect, it } from 'vitest';
import { isDay, startOfDay } from './isoDays';

describe('days of addresses', () => {
  it('are those of the calendar', () => {
    expect(['2026-02-28', '2024-02-29'].every(isDay)).toBe(true);
    expect(['2026-02-29', '2026-2-1', '2026-13-01', 'today', ''].some(isDay)).toBe(false);
  });

  it("begin at the reader's midnight", () => {
    expect(startOfDay('2026-02-28')).toBe(new Date(2026, 1, 28).toISOString());
    expect(startOfDay('2026-02-28', 1)).toBe(new Date(2026, 2, 1).toISOString());
  });
});
