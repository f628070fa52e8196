import { describe, expect, it } from 'vitest';
import {
  addDays,
  addMonths,
  dayIn,
  fieldFormat,
  fieldText,
  firstWeekday,
  isMoment,
  readField,
  weeksOf,
} from './days';

const LOCALES = ['en-US', 'en-GB', 'de-DE', 'zh-CN', 'en-US-u-hc-h23', 'de-DE-u-hc-h12', 'ar-EG'];

describe('days', () => {
  it('are those of the calendar', () => {
    expect(isMoment('2026-02-28T23:59')).toBe(true);
    expect(['2026-02-28T24:00', '2026-02-30T10:00', '2026-02-28'].some(isMoment)).toBe(false);
  });

  it('are added up', () => {
    expect(addDays('2026-03-01', -1)).toBe('2026-02-28');
    expect(addMonths('2026-01-31', 1)).toBe('2026-02-28');
    expect(addMonths('2026-01-15', -1)).toBe('2025-12-15');
  });

  it('are shown in weeks', () => {
    const weeks = weeksOf('2026-11-22', firstWeekday('de-DE'));
    expect(weeks[0]).toEqual([
      '2026-10-26',
      '2026-10-27',
      '2026-10-28',
      '2026-10-29',
      '2026-10-30',
      '2026-10-31',
      '2026-11-01',
    ]);
    expect(weeks.at(-1)?.at(-1)).toBe('2026-12-06');
    expect(weeksOf('2026-11-22', firstWeekday('en-US'))[0]?.[0]).toBe('2026-11-01');
    expect(dayIn('en-US', '2026-11-22', { weekday: 'long' })).toBe('Sunday');
  });
});

describe('date fields', () => {
  it("have the reader's format", () => {
    expect(fieldText('en-US', '2026-11-22')).toBe('11/22/2026');
    expect(fieldText('de-DE', '2026-11-22')).toBe('22.11.2026');
    expect(fieldText('zh-CN', '2026-11-22')).toBe('2026/11/22');
    expect(fieldFormat('en-GB', false)).toBe('DD/MM/YYYY');
    expect(fieldText('en-US-u-hc-h23', '2026-11-22T18:05')).toBe('11/22/2026, 18:05');
    expect(fieldText('en-US', 'tomorrow')).toBe('tomorrow');
  });

  it.each(LOCALES)('are read as they are written in %s', (locale) => {
    for (const day of ['2026-11-22', '2024-02-29', '2026-01-02'])
      expect(readField(locale, fieldText(locale, day), false)).toBe(day);
    for (const time of ['00:05', '06:30', '12:00', '18:59'])
      expect(readField(locale, fieldText(locale, `2026-01-02T${time}`), true)).toBe(
        `2026-01-02T${time}`,
      );
  });

  it('take the international format, too', () => {
    expect(readField('de-DE', ' 2026-1-2', false)).toBe('2026-01-02');
    expect(readField('en-US', '2026-01-02 18:00', true)).toBe('2026-01-02T18:00');
  });

  it('take no half of a day, and none that does not exist', () => {
    const wrong = ['', '22', '11/22', '11/22/26', '02/30/2026', '22/11/2026', '1/2/2026 10', 'x'];
    for (const text of wrong) expect(readField('en-US', text, false)).toBeNull();
    for (const text of ['1/2/2026', '1/2/2026 24:00', '1/2/2026 13:00 PM', '1/2/2026 10:60'])
      expect(readField('en-US', text, true)).toBeNull();
  });
});
