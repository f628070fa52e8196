/** The text of a number field during typing, and its value. Pure. */

/** The conversion between a value and its displayed unit. */
export interface Unit {
  show: (value: number | null) => number | null;
  read: (displayed: number | null) => number | null;
}

export const SAME_UNIT: Unit = { show: (value) => value, read: (displayed) => displayed };

/** Parse a typed number, including incomplete ones such as "1." and "0.0"; null if there is none. */
export function typedNumber(typed: string | number): number | null {
  const number =
    typeof typed === 'number' ? typed : typed.trim() === '' ? Number.NaN : Number(typed);
  return Number.isFinite(number) ? number : null;
}

/** Return the field's text: the typed text while it equals the value, else the value. */
export function shownNumber(
  typed: string | number | null,
  value: number | null,
  unit: Unit,
): string | number {
  if (typed !== null && unit.read(typedNumber(typed)) === value) return typed;
  return unit.show(value) ?? '';
}
