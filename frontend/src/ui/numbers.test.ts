import { describe, expect, it } from 'vitest';
import { SAME_UNIT, shownNumber, typedNumber, type Unit } from './numbers';

/** Displayed in hours, stored in minutes. */
const HOURS: Unit = {
  show: (minutes) => (minutes === null ? null : Math.round((minutes / 60) * 100) / 100),
  read: (hours) => (hours === null ? null : Math.round(hours * 60)),
};

/** Return the field's text and the form's value after each key; an incomplete number is text. */
function keys(unit: Unit, ...typed: (string | number)[]): [string | number, number | null][] {
  return typed.map((key) => {
    const value = unit.read(typedNumber(key));
    return [shownNumber(key, value, unit), value];
  });
}

describe('a number field', () => {
  it('reads an incomplete number', () => {
    expect(['1.', '0.0', '01', 2.5, '', '-', '.'].map(typedNumber)).toEqual([
      1,
      0,
      1,
      2.5,
      null,
      null,
      null,
    ]);
  });

  it('keeps the text typed key by key', () => {
    expect(keys(SAME_UNIT, 1, '1.', 1.5)).toEqual([
      [1, 1],
      ['1.', 1],
      [1.5, 1.5],
    ]);
    expect(keys(HOURS, 0, '0.', 0.2, 0.25)).toEqual([
      [0, 0],
      ['0.', 0],
      [0.2, 12],
      [0.25, 15],
    ]);
    expect(keys(SAME_UNIT, '')).toEqual([['', null]]);
  });

  it('does not correct a value that its unit rounds', () => {
    expect(keys(HOURS, 0.01)).toEqual([[0.01, 1]]);
  });

  it('shows another value than was typed', () => {
    expect(shownNumber('1.', 4, SAME_UNIT)).toBe(4);
    expect(shownNumber(1, null, SAME_UNIT)).toBe('');
    expect(shownNumber(null, 90, HOURS)).toBe(1.5);
  });
});
