import { t } from '@lingui/core/macro';

/** Format a metric with few enough digits to compare at a glance. */
export function metricText(value: number | null | undefined): string {
  if (value === null) return t`not a number`;
  return value === undefined ? '–' : String(Number(value.toPrecision(4)));
}
