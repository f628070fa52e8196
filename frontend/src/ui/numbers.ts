/** What stands in a number field while it is typed, and the value it means. Pure. */

/** How a value is shown in another unit than it is kept in, and read from it. */
export interface Unit {
  show: (value: number | null) => number | null;
  read: (shown: number | null) => number | null;
}

export const AS_IT_IS: Unit = { show: (value) => value, read: (shown) => shown };

/** "1." and "0.0" are on their way to a number, and mean one already; null where none stands there. */
export function typedNumber(typed: string | number): number | null {
  const number =
    typeof typed === 'number' ? typed : typed.trim() === '' ? Number.NaN : Number(typed);
  return Number.isFinite(number) ? number : null;
}

/** What the field shows: what was typed for as long as it means the value, else the value. */
export function shownNumber(
  typed: string | number | null,
  value: number | null,
  unit: Unit,
): string | number {
  if (typed !== null && unit.read(typedNumber(typed)) === value) return typed;
  return unit.show(value) ?? '';
}
