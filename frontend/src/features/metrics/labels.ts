/** Labels of metrics. Pure. */
import { t } from '@lingui/core/macro';
import { dateLocale } from '@/i18n';
import { duration } from '@/lib/time';
import { metricText } from '@/ui/metricText';
import type { CurveAxis } from '@/ui/plot/CurvePlot';
import type { PlotUnit } from '@/ui/plot/units';

export const METRIC: PlotUnit = { text: metricText, least: 0 };

/** The distances of ticks on the axis of steps are 1, 2 or 5 times one of these. */
const POWERS = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** The possible distances of ticks on the axis of time. */
const SECONDS = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * 60),
  ...[1, 2, 5, 10, 30, 90].map((days) => days * 86_400),
];

const wholeNumber = (value: number): string => Math.round(value).toLocaleString(dateLocale());

export const STEP_AXIS: CurveAxis = {
  label: t`Step`,
  text: wholeNumber,
  steps: POWERS.flatMap((power) => [power, 2 * power, 5 * power]),
};

export const TIME_AXIS: CurveAxis = {
  label: t`Time since the first value`,
  text: (seconds) => duration(seconds * 1000),
  steps: SECONDS,
};
