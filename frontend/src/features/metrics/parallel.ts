/** Runs on parallel axes: parameters, and a metric on the last one. Pure. */
import { escapeInvisible } from '@/lib/escapeInvisible';
import { metricText } from '@/ui/metricText';

/** A line of the chart: a task of an array, or a compared job. */
export interface SweepRun {
  key: string;
  label: string;
  parameters: Readonly<Record<string, unknown>>;
  metrics: Readonly<Record<string, number | null>> | null;
}

export interface Axis {
  name: string;
  /** from 0, the bottom, to 1 */
  ticks: { text: string; share: number }[];
  /** one for each run; null for a run without a value */
  shares: (number | null)[];
  /** the formatted values, one for each run */
  texts: string[];
}

export const MAX_AXES = 8;
const DEFAULT_AXES = 5;
const MAX_TICKS = 6;
/** Ticks closer than this, as a share of the axis, would overlap. */
const CLOSEST = 0.07;
/** Numbers that are positive and differ by at least this factor are on a logarithmic axis. */
const WIDE = 50;

const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);

const isMissing = (value: unknown): boolean =>
  value === null || value === undefined || value === '';

/** Format a value in one line, with hostile characters escaped. */
function valueText(value: unknown): string {
  if (isMissing(value)) return '–';
  if (isNumber(value)) return metricText(value);
  return escapeInvisible(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Return a run's value of a parameter; undefined if it has none. A parameter may have the name of an
 * inherited property, such as "constructor". */
const parameterValue = ({ parameters }: SweepRun, name: string): unknown =>
  Object.hasOwn(parameters, name) ? parameters[name] : undefined;

/** Return the runs with a finite value of the metric, the smallest first. */
export function rankedRuns(runs: readonly SweepRun[], metric: string): SweepRun[] {
  const value = ({ metrics }: SweepRun): number => metrics?.[metric] ?? 0;
  return runs
    .filter(({ metrics }) => isNumber(metrics?.[metric]))
    .sort((a, b) => value(a) - value(b));
}

/** Return the names of the metrics that at least two runs have. */
export function metricNames(runs: readonly SweepRun[]): string[] {
  const count = new Map<string, number>();
  for (const { metrics } of runs)
    for (const [name, value] of Object.entries(metrics ?? {}))
      if (isNumber(value)) count.set(name, (count.get(name) ?? 0) + 1);
  return [...count].flatMap(([name, runsWithIt]) => (runsWithIt > 1 ? [name] : []));
}

/** Return the names of the parameters whose values differ, in order of first appearance. */
export function varyingNames(runs: readonly SweepRun[]): string[] {
  const names = new Set(runs.flatMap(({ parameters }) => Object.keys(parameters)));
  return [...names].filter(
    (name) => new Set(runs.map((run) => valueText(parameterValue(run, name)))).size > 1,
  );
}

export const defaultNames = (varying: readonly string[]): string[] =>
  varying.slice(0, DEFAULT_AXES);

/** Return an axis for each of these parameters. */
export const parameterAxes = (runs: readonly SweepRun[], names: readonly string[]): Axis[] =>
  names.map((name) =>
    toAxis(
      name,
      runs.map((run) => parameterValue(run, name)),
    ),
  );

export const metricAxis = (runs: readonly SweepRun[], metric: string): Axis =>
  toAxis(
    metric,
    runs.map(({ metrics }) => metrics?.[metric]),
  );

function toAxis(name: string, values: readonly unknown[]): Axis {
  const known = values.filter((value) => !isMissing(value));
  const axis = known.every(isNumber) ? numberAxis(known) : categoryAxis(known);
  return {
    name,
    ticks: axis.ticks,
    shares: values.map((value) => (isMissing(value) ? null : axis.share(value))),
    texts: values.map(valueText),
  };
}

interface Scale {
  ticks: Axis['ticks'];
  share: (value: unknown) => number;
}

function numberAxis(values: readonly number[]): Scale {
  const distinct = [...new Set(values)].sort((a, b) => a - b);
  const low = distinct[0] ?? 0;
  const high = distinct.at(-1) ?? 0;
  const isWide = low > 0 && high / low >= WIDE;
  const place = isWide ? Math.log : (value: number): number => value;
  const span = place(high) - place(low);
  const toShare = (value: number): number => (span > 0 ? (place(value) - place(low)) / span : 0.5);
  const ticks = distinct.length <= MAX_TICKS ? distinct : evenTicks(low, high, isWide);
  return {
    ticks: thinned(ticks.map((value) => ({ text: metricText(value), share: toShare(value) }))),
    share: (value) => toShare(Number(value)),
  };
}

/** Leave out ticks that are too close to another; the first and the last one stay. */
function thinned(ticks: Axis['ticks']): Axis['ticks'] {
  const last = ticks.at(-1);
  const kept: Axis['ticks'] = [];
  for (const tick of ticks) {
    const isFar = ({ share }: { share: number }): boolean =>
      Math.abs(tick.share - share) >= CLOSEST;
    if (tick === last || (kept.every(isFar) && (kept.length === 0 || !last || isFar(last))))
      kept.push(tick);
  }
  return kept;
}

function evenTicks(low: number, high: number, isWide: boolean): number[] {
  return [0, 0.25, 0.5, 0.75, 1].map((share) =>
    isWide ? low * (high / low) ** share : low + (high - low) * share,
  );
}

function categoryAxis(values: readonly unknown[]): Scale {
  const texts = [...new Set(values.map(valueText))].sort();
  const indexes = new Map(texts.map((text, index) => [text, index]));
  const toShare = (text: string): number =>
    texts.length > 1 ? (indexes.get(text) ?? 0) / (texts.length - 1) : 0.5;
  const step = Math.max(1, Math.ceil((texts.length - 1) / (MAX_TICKS - 1)));
  return {
    ticks: texts
      .filter((_, index) => index % step === 0 || index === texts.length - 1)
      .map((text) => ({ text, share: toShare(text) })),
    share: (value) => toShare(valueText(value)),
  };
}
