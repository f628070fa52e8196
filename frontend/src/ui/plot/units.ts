/** Units of charts: how values are written, and where an axis has its ticks. Pure. */
import { t } from '@lingui/core/macro';
import { dateLocale } from '@/i18n';
import { clock } from '@/lib/clock';
import { memoryText } from '@/lib/sizes';
import { localTime } from '@/lib/time';

export interface PlotUnit {
  text: (value: number) => string;
  /** possible tick intervals, ascending; powers of ten by default */
  steps?: readonly number[];
  /** the smallest upper bound of an axis, so that noise near zero stays small */
  least: number;
}

const MB_PER_GB = 1024;
const powersOfTwo = (count: number): number[] => Array.from({ length: count }, (_, n) => 2 ** n);

/** Format a number of busy CPUs: "0.5", "12", "less than 0.1". */
export function busyCpusText(cpus: number): string {
  if (cpus > 0 && cpus < 0.05) return t`less than 0.1`;
  return cpus < 9.95 ? String(Number(cpus.toFixed(1))) : String(Math.round(cpus));
}

/** Memory in MB. */
export const MEMORY: PlotUnit = {
  text: (mb) => memoryText(mb / MB_PER_GB),
  steps: powersOfTwo(36),
  least: 16,
};

export const CPUS: PlotUnit = {
  text: busyCpusText,
  steps: [0.1, 0.2, 0.5, ...[1, 10, 100, 1000, 10_000].flatMap((n) => [n, 2 * n, 5 * n])],
  least: 0.5,
};

export const PERCENT: PlotUnit = {
  text: (percent) => `${Math.round(percent)} %`,
  steps: [1, 2, 5, 10, 20, 25, 50],
  least: 10,
};

/** Format a value for an axis: as in a text, but zero has no unit. */
export const axisText = (value: number, unit: PlotUnit): string =>
  value === 0 ? '0' : unit.text(value);

const HOUR_S = 3600;

/** Format the time of a measurement; `seconds` since 1970. */
const timeText = (seconds: number): string =>
  localTime(new Date(seconds * 1000).toISOString(), clock.now());

/** Return the format of the times of measurements: with seconds if they cover less than an hour. */
export function timeFormat(at: readonly number[]): (seconds: number) => string {
  const span = (at.at(-1) ?? 0) - (at[0] ?? 0);
  return (seconds) => (span < HOUR_S ? tickText(seconds, 1) : timeText(seconds));
}

/** Possible tick intervals of a time axis, in seconds. */
export const TIME_STEPS_S: number[] = [
  ...[5, 10, 15, 30],
  ...[1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * 60),
  ...[1, 2, 5, 10, 30, 90, 365, 3650].map((days) => days * 86_400),
];

/** Format a tick of a time axis: with seconds or without a time of day, as their interval needs. */
export function tickText(seconds: number, stepS: number): string {
  const date = new Date(seconds * 1000);
  if (stepS < 60) return date.toLocaleTimeString(dateLocale());
  if (stepS >= 86_400)
    return date.toLocaleDateString(dateLocale(), { day: 'numeric', month: 'short' });
  return timeText(seconds);
}
