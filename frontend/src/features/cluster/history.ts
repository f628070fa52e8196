/** The cluster's history as charts. Pure. */
import { t } from '@lingui/core/macro';
import { locale } from '@/i18n';
import { duration } from '@/lib/time';
import { anyKnown, type TimeSeries, type Value } from '@/ui/plot/series';
import type { PlotUnit } from '@/ui/plot/units';
import type { ClusterHistory, HistoryRange } from './types';

export interface HistoryChart {
  key: 'gpus' | 'cpus' | 'pending' | 'wait';
  title: string;
  text: string;
  series: TimeSeries[];
  unit: PlotUnit;
  /** the largest possible value */
  top?: number | undefined;
}

type Values = readonly (number | null)[];

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** Format a mean of a count: "0.4", "12", "1,204". */
export const meanText = (value: number, as: string = locale()): string =>
  value.toLocaleString(as, { maximumFractionDigits: value < 10 ? 1 : 0 });

const COUNT: PlotUnit = {
  text: (value) => meanText(value),
  steps: [0.5, ...[1, 10, 100, 1000, 10_000, 100_000].flatMap((n) => [n, 2 * n, 5 * n])],
  least: 1,
};

const WAIT: PlotUnit = {
  text: (seconds) => duration(seconds * 1000),
  steps: [
    ...[10, 30],
    ...[1, 2, 5, 10, 20, 30].map((n) => n * MINUTE_S),
    ...[1, 2, 6, 12].map((n) => n * HOUR_S),
    ...[1, 2, 5, 10, 30].map((n) => n * DAY_S),
  ],
  least: MINUTE_S,
};

export const RANGE_LABELS: Record<HistoryRange, string> = {
  '24h': t`24 hours`,
  '7d': t`7 days`,
  '30d': t`30 days`,
  '1y': t`1 year`,
};

const known = (values: Values): number[] => values.filter((value) => value !== null);

const largest = (values: Values): number => Math.max(0, ...known(values));

/** Return the mean of the known values; null if there are none. */
export function mean(values: Values): number | null {
  const numbers = known(values);
  return numbers.length === 0 ? null : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

/** Return the starts of the steps, in seconds since 1970. */
export function historyTimes(history: Pick<ClusterHistory, 'start' | 'step_s' | 'gpus'>): number[] {
  const start = Date.parse(history.start) / 1000;
  return history.gpus.map((_, index) => start + index * history.step_s);
}

/** Return whether anything was recorded in the range. */
export const hasHistory = ({ cpus }: Pick<ClusterHistory, 'cpus'>): boolean => anyKnown(cpus);

function allocationText(allocated: Values, total: Values): string {
  const [used, all] = [mean(allocated), mean(total)];
  if (used === null || all === null) return '';
  const percent = all === 0 ? 0 : Math.round((100 * used) / all);
  return t`${{ used: meanText(used) }} of ${{ all: meanText(all) }} allocated on average (${percent} %)`;
}

function allocationSeries(
  total: Values,
  allocated: Values,
  used: Values,
  usedLabel: string,
): TimeSeries[] {
  const lines: { label: string; values: readonly Value[]; color?: string }[] = [
    { label: t`Allocated`, values: allocated },
    { label: t`Total`, values: total, color: '--quiet' },
  ];
  if (anyKnown(used)) lines.splice(1, 0, { label: usedLabel, values: used });
  return lines;
}

function waitText(waits: Values): string {
  return anyKnown(waits)
    ? t`Half of the sessions and jobs that started waited at most this long.`
    : t`No sessions or jobs have started in this time.`;
}

/** Return the charts: GPUs if there are any, CPUs, pending jobs, and waits. */
export function historyCharts(history: ClusterHistory): HistoryChart[] {
  const { gpus, cpus, pending_jobs: pending, median_wait_s: waits } = history;
  const most = meanText(largest(pending));
  const average = meanText(mean(pending) ?? 0);
  const charts: HistoryChart[] = [
    {
      key: 'gpus',
      title: t`GPUs`,
      text: allocationText(history.gpus_allocated, gpus),
      series: allocationSeries(gpus, history.gpus_allocated, history.gpus_used, t`In use`),
      unit: COUNT,
      top: largest(gpus),
    },
    {
      key: 'cpus',
      title: t`CPUs`,
      text: allocationText(history.cpus_allocated, cpus),
      series: allocationSeries(cpus, history.cpus_allocated, history.cpus_used, t`Load`),
      unit: COUNT,
      top: largest(cpus),
    },
    {
      key: 'pending',
      title: t`Queued jobs`,
      text: t`${average} on average, ${most} at most`,
      series: [{ label: t`Queued`, values: pending }],
      unit: COUNT,
    },
    {
      key: 'wait',
      title: t`Median wait in the queue`,
      text: waitText(waits),
      series: [{ label: t`Median wait`, values: waits }],
      unit: WAIT,
    },
  ];
  return charts.filter(({ key, top }) => key !== 'gpus' || top !== 0);
}
