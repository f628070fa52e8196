/** Usage over time as a chart. Pure. */
import { t } from '@lingui/core/macro';
import type { UsageHistory } from '@/api/types';
import type { StackedSeries } from '@/ui/plot/stack';
import type { PlotUnit } from '@/ui/plot/units';
import { dayText, monthShort, monthText } from './months';
import { hoursText, type Row } from './rows';

export type Measure = UsageHistory['measure'];

export const HOURS: PlotUnit = { text: (value) => hoursText(value), least: 1 };

/** The name of usage outside of all Slurm accounts is empty. */
export const nameText = (name: string): string => name || t`(no Slurm account)`;

/** Format a period in full: a month as "November 2026", a day as 2026-11-22. */
export const periodText = (period: string): string =>
  period.length === 7 ? monthText(period) : period;

/** Return the names of the periods: short for the axis, and in full. */
export function periodTexts({ periods, step }: Pick<UsageHistory, 'periods' | 'step'>): {
  short: string[];
  full: string[];
} {
  const short = (period: string) => (step === 'day' ? dayText(period) : monthShort(period));
  return { short: periods.map(short), full: periods.map(periodText) };
}

/** Return the bars' parts, the largest first, the sum of the others last. */
export function usageSeries({ series, others }: UsageHistory): StackedSeries[] {
  const named = series.map(({ name, hours }) => ({ label: nameText(name), values: hours }));
  return others === null
    ? named
    : [...named, { label: t`Others`, values: others, color: '--square-others' }];
}

/** Return the measure to show first: GPU-hours unless only CPUs were used. */
export const initialMeasure = (rows: readonly Row[]): Measure =>
  rows.some(({ gpu_hours }) => gpu_hours > 0) || rows.every(({ cpu_hours }) => cpu_hours === 0)
    ? 'gpu_hours'
    : 'cpu_hours';
