/** Bars that consist of parts, as a chart draws them. Pure. */

export interface StackedSeries {
  label: string;
  /** one value for each period; null if unknown */
  values: readonly (number | null)[];
  /** the name of a CSS variable; by default the fill of its position (`markFill` in marks.ts) */
  color?: string;
}

/** Return, for each series, the tops of its parts: the sums of its values and of those before it. */
export function stackTops(series: readonly StackedSeries[]): (number | null)[][] {
  let below: (number | null)[] = [];
  return series.map(({ values }) => {
    below = values.map((value, index) => {
      const under = below[index] ?? null;
      return value === null ? under : (under ?? 0) + value;
    });
    return below;
  });
}

/** Return the sum of the known values. */
export const sumOf = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/** Return the indices of the periods that are labeled, `most` at most, the last one included. */
export function labeledPeriods(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / Math.max(1, most)));
  return Array.from({ length: count }, (_, index) => index).filter(
    (index) => (count - 1 - index) % step === 0,
  );
}
