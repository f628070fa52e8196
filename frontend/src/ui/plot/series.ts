/**
 * Time series as charts draw them: gaps, alignment, ranges and the bounds of the axes. Pure.
 *
 * A value of null is a gap in its line. A value of undefined means that the series has no point at
 * that time, because another series does: its line continues.
 */
import type { PlotUnit } from './units';

export type Value = number | null | undefined;

export interface TimeSeries {
  label: string;
  /** one value for each of the chart's times */
  values: readonly Value[];
  /** the name of a CSS variable; by default that of the series' mark */
  color?: string;
  /** the index of its color and dash pattern (marks.ts); by default its position */
  mark?: number;
}

/** A line across the chart; values from 90 % of it on are drawn in red. */
export interface Threshold {
  value: number;
  label: string;
}

/** Columns with a value for each time in seconds since 1970; times ascend. */
export interface Table {
  at: readonly number[];
  columns: readonly (readonly Value[])[];
}

/** From and to, in seconds since 1970. */
export type TimeRange = readonly [from: number, to: number];

/** A time range of a chart: the last seconds of the series, or all of it. */
export type RangeChoice = number | 'all';

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
const RANGES_S = [15 * MINUTE_S, HOUR_S, 6 * HOUR_S, DAY_S, 7 * DAY_S] as const;

/** From this share of the threshold on, a line is red. */
export const NEAR_THRESHOLD = 0.9;

const knownValues = (values: readonly Value[]): number[] =>
  values.filter((value) => value !== null && value !== undefined);

/** Return the table with a row of gaps wherever two times are further apart than `gapS` seconds. */
export function breakGaps({ at, columns }: Table, gapS: number): Table {
  const breaks = at.flatMap((time, index) => {
    const next = at[index + 1];
    return next !== undefined && next - time > gapS ? [index] : [];
  });
  if (breaks.length === 0) return { at, columns };
  const after = new Set(breaks);
  const insert = <T>(column: readonly T[], extra: (value: T) => T): T[] =>
    column.flatMap((value, index) => (after.has(index) ? [value, extra(value)] : [value]));
  return {
    at: insert(at, (time) => time + gapS / 2),
    columns: columns.map((column) => insert<Value>(column, () => null)),
  };
}

/** Return one table with the columns of all, by the union of their times. */
export function alignTables(tables: readonly Table[]): Table {
  const [only] = tables;
  if (only !== undefined && tables.length === 1) return only;
  const at = [...new Set(tables.flatMap((table) => table.at))].sort((a, b) => a - b);
  const columns = tables.flatMap((table) => {
    const rows = new Map(table.at.map((time, index) => [time, index]));
    return table.columns.map((column) =>
      at.map((time): Value => {
        const row = rows.get(time);
        return row === undefined ? undefined : column[row];
      }),
    );
  });
  return { at, columns };
}

/** Return the index of the series' last point up to `index`, or `index` if it has none. */
export function indexUpTo(values: ArrayLike<Value>, index: number): number {
  for (let nearest = index; nearest >= 0; nearest -= 1)
    if (values[nearest] !== undefined) return nearest;
  return index;
}

/** Return the series' value at `index`, which may be that of an earlier point; null for a gap. */
export const valueUpTo = (values: readonly Value[], index: number): number | null =>
  values[indexUpTo(values, index)] ?? null;

/** Return the indices of known values between gaps: no line leads to them. */
export function findIsolated(values: readonly Value[]): number[] {
  const points = values.flatMap((value, index) => (value === undefined ? [] : [index]));
  const isKnown = (index: number | undefined): boolean =>
    index !== undefined && typeof values[index] === 'number';
  return points.filter(
    (index, nth) => isKnown(index) && !isKnown(points[nth - 1]) && !isKnown(points[nth + 1]),
  );
}

/** Return the last ranges that are shorter than the series, then "all". */
export function rangeChoices(at: readonly number[]): RangeChoice[] {
  const [first, last] = [at[0], at.at(-1)];
  if (first === undefined || last === undefined) return ['all'];
  return [...RANGES_S.filter((seconds) => seconds < last - first), 'all'];
}

/** Return the times that a choice shows; undefined for all. */
export function rangeOf(at: readonly number[], choice: RangeChoice): TimeRange | undefined {
  const last = at.at(-1);
  return choice === 'all' || last === undefined ? undefined : [last - choice, last];
}

/**
 * Return the upper bound of an axis that begins at zero: just above the peak, or above `top`, the
 * largest possible value, if the peak comes close to it.
 */
export function upperBound(peak: number, top: number | undefined, least: number): number {
  const near = top !== undefined && peak >= top / 2;
  return Math.max(near ? top * 1.05 : 0, peak * 1.15, least);
}

/** Return the points in the range as rows of a table, the last one included, `most` at most. */
export function pointRows(
  at: readonly number[],
  series: readonly TimeSeries[],
  unit: PlotUnit,
  range?: TimeRange,
  most = 30,
): [at: number, texts: string[]][] {
  const rows = at.flatMap((time, index) =>
    range === undefined || (time >= range[0] && time <= range[1]) ? [index] : [],
  );
  const step = Math.max(1, Math.ceil(rows.length / most));
  return rows
    .filter((_, row) => (rows.length - 1 - row) % step === 0)
    .map((index) => [
      at[index] ?? 0,
      series.map(({ values }) => {
        const value = valueUpTo(values, index);
        return value === null ? '–' : unit.text(value);
      }),
    ]);
}

/** Return whether any of the values is known. */
export const anyKnown = (values: readonly Value[]): boolean => knownValues(values).length > 0;
