/** Curves as charts draw them: one chart for each tag, with a line for each job and run. Pure. */
import { plural, t } from '@lingui/core/macro';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { metricText } from '@/ui/metricText';
import { alignTables, type TimeSeries, type Value } from '@/ui/plot/series';
import type { Curve } from './queries';

export interface CurveSettings {
  x: 'step' | 'time';
  /** from 0 (none) to below 1, as in TensorBoard */
  smoothing: number;
  logarithmic: boolean;
}

/** The curves of one job; `name` is null if it is the only one. */
export interface NamedCurves {
  id: string;
  name: string | null;
  curves: readonly Curve[];
}

export interface MetricChart {
  tag: string;
  title: string;
  at: readonly number[];
  series: TimeSeries[];
  /** the lines without smoothing; empty if they are not smoothed */
  raw: TimeSeries[];
  /** the figures of a single line, and remarks */
  text: string;
}

interface Line {
  label: string;
  /** the index of its color and dash pattern */
  mark: number;
  curve: Curve;
  /** when the job logged its first value, in seconds since 1970 */
  startS: number;
}

type Point = [x: number, value: number | null];

/**
 * Smooth exponentially as TensorBoard does: a moving average that is corrected for its start at zero.
 * Gaps stay. A constant line stays exactly as it is.
 */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  const known = values.filter((value) => value !== null);
  if (weight <= 0 || known.every((value) => value === known[0])) return [...values];
  let average = 0;
  let count = 0;
  return values.map((value) => {
    if (value === null) return null;
    count += 1;
    average = average * weight + (1 - weight) * value;
    return average / (1 - weight ** count);
  });
}

/** Return whether the steps tell the values apart: some programs log all with step 0. */
export const usesSteps = (curves: readonly Curve[]): boolean =>
  curves.some(({ steps }) => new Set(steps).size > 1) ||
  curves.every(({ steps }) => steps.length < 2);

/** Return the tags, in order of first appearance. */
export const tagsOf = (jobs: readonly NamedCurves[]): string[] => [
  ...new Set(jobs.flatMap(({ curves }) => curves.map(({ tag }) => tag))),
];

/** Return the tags that contain a text, regardless of case. */
export function matchingTags(tags: readonly string[], text: string): string[] {
  const wanted = text.trim().toLowerCase();
  return tags.filter((tag) => tag.toLowerCase().includes(wanted));
}

/** Return the charts of these tags. */
export function metricCharts(
  jobs: readonly NamedCurves[],
  tags: readonly string[],
  settings: CurveSettings,
): MetricChart[] {
  const lines = linesOf(jobs);
  return tags.map((tag) =>
    toChart(
      tag,
      lines.filter(({ curve }) => curve.tag === tag),
      settings,
    ),
  );
}

/** Return all lines; those of the same job and run have the same mark in all charts. */
function linesOf(jobs: readonly NamedCurves[]): Line[] {
  const marks = new Map<string, number>();
  return jobs.flatMap(({ id, name, curves }) => {
    const startS = Math.min(...curves.flatMap(({ at }) => at.filter((time) => time > 0)));
    return curves.map((curve) => {
      const key = JSON.stringify([id, curve.run]);
      if (!marks.has(key)) marks.set(key, marks.size);
      const parts = [name, curve.run].filter((part) => part !== null && part !== '');
      const label = escapeInvisible(parts.join(' · ')) || t`Value`;
      return { label, mark: marks.get(key) ?? 0, curve, startS };
    });
  });
}

function toChart(tag: string, lines: readonly Line[], settings: CurveSettings): MetricChart {
  const { smoothing, logarithmic } = settings;
  const points = lines.map((line) => pointsOf(line, settings));
  const shownPoints = logarithmic ? points.map((each) => each.map(positiveOnly)) : points;
  const smoothPoints = shownPoints.map((each) => {
    const values = smoothed(
      each.map(([, value]) => value),
      smoothing,
    );
    return each.map(([x], index): Point => [x, values[index] ?? null]);
  });
  const names = uniqueLabels(lines.map(({ label }) => label));
  const toSeries = (columns: readonly (readonly Value[])[]): TimeSeries[] =>
    lines.map(({ mark }, index) => ({
      label: names[index] ?? '',
      mark,
      values: columns[index] ?? [],
    }));
  const { at, columns } = alignTables([...smoothPoints, ...shownPoints].map(toTable));
  const hidden = countGaps(shownPoints) - countGaps(points);
  return {
    tag,
    title: escapeInvisible(tag),
    at,
    series: toSeries(columns.slice(0, lines.length)),
    raw: smoothing > 0 ? toSeries(columns.slice(lines.length)) : [],
    text: [...valueTexts(points), ...remarks(lines, hidden)].join(' '),
  };
}

/** Return a line's points by x; of points with the same x, the last one. */
function pointsOf({ curve, startS }: Line, { x }: CurveSettings): Point[] {
  const byX = new Map<number, number | null>();
  curve.values.forEach((value, index) => {
    const step = curve.steps[index] ?? 0;
    byX.set(x === 'step' ? step : Math.max(0, (curve.at[index] ?? 0) - startS), value);
  });
  return [...byX].sort(([a], [b]) => a - b);
}

const positiveOnly = ([x, value]: Point): Point => [x, value !== null && value > 0 ? value : null];

const toTable = (points: readonly Point[]) => ({
  at: points.map(([x]) => x),
  columns: [points.map(([, value]) => value)],
});

const countGaps = (lines: readonly (readonly Point[])[]): number =>
  lines.flat().filter(([, value]) => value === null).length;

/** Number labels that are the same, as those of two jobs with one name. */
function uniqueLabels(labels: readonly string[]): string[] {
  const count = new Map<string, number>();
  return labels.map((label) => {
    const nth = (count.get(label) ?? 0) + 1;
    count.set(label, nth);
    return nth === 1 ? label : `${label} (${nth})`;
  });
}

/** Return the figures of a single line as a sentence. */
function valueTexts(lines: readonly (readonly Point[])[]): string[] {
  const [only] = lines;
  if (only === undefined || lines.length > 1) return [];
  const known = only.flatMap(([, value]) => (value === null ? [] : [value]));
  const last = known.at(-1);
  if (last === undefined) return [];
  const [low, high] = known.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [last, last],
  );
  if (low === high) return [t`Last value: ${{ value: metricText(last) }}.`];
  return [
    t`Last value: ${{ value: metricText(last) }}; smallest ${{ low: metricText(low) }}, largest ${{ high: metricText(high) }}.`,
  ];
}

function remarks(lines: readonly Line[], hidden: number): string[] {
  const notFinite = lines.reduce((sum, { curve }) => sum + curve.not_finite, 0);
  return [
    notFinite > 0 &&
      plural(notFinite, {
        one: '# value is not finite (NaN or infinite).',
        other: '# values are not finite (NaN or infinite).',
      }),
    hidden > 0 &&
      plural(hidden, {
        one: "# point is not positive, so a logarithmic scale can't show it.",
        other: "# points are not positive, so a logarithmic scale can't show them.",
      }),
  ].filter((remark) => remark !== false);
}
