/** The recent usage of a session or job as a small line and a few words. Pure. */
import { t } from '@lingui/core/macro';
import type { components } from '@/api/schema';
import { duration } from '@/lib/time';

export type UsageTrend = components['schemas']['UsageTrendOut'];

/** The last value counts as the current one if it is among this many steps. */
const CURRENT_STEPS = 4;
/** A GPU that is idle for at least this long may have been forgotten, so the page says so. */
export const IDLE_HINT_MS = 20 * 60_000;

const HEIGHT = 100;

/** Return the SVG paths of the line, one for each stretch without a gap; values are in percent. */
export function sparklinePaths(values: readonly (number | null)[]): string[] {
  const paths: string[] = [];
  let path = '';
  values.forEach((value, index) => {
    if (value === null) {
      if (path !== '') paths.push(path);
      path = '';
      return;
    }
    const y = HEIGHT - value;
    // a single value is a stretch too
    path += path === '' ? `M${index} ${y}H${index + 1}` : `L${index} ${y}H${index + 1}`;
  });
  if (path !== '') paths.push(path);
  return paths;
}

/** Return the current use in percent; null if it is unknown. */
export const currentPercent = ({ percent }: Pick<UsageTrend, 'percent'>): number | null =>
  percent.slice(-CURRENT_STEPS).findLast((value) => value !== null) ?? null;

/** "GPU 45 % now"; `trend` is undefined while it is unknown. */
export function trendText(trend: UsageTrend | undefined): string {
  const percent = trend === undefined ? null : currentPercent(trend);
  if (trend === undefined || percent === null) return t`No usage data`;
  const use = Math.round(percent);
  return trend.resource === 'gpu' ? t`GPU ${use} % now` : t`CPU ${use} % now`;
}

/** Describe the line for screen readers: "GPU utilization in the last 15 minutes: at most 90 %". */
export function sparklineText(trend: UsageTrend | undefined): string {
  const known = trend?.percent.filter((value) => value !== null) ?? [];
  if (trend === undefined || known.length === 0) return t`No usage data for the last 15 minutes`;
  const most = Math.round(Math.max(...known));
  return trend.resource === 'gpu'
    ? t`GPU utilization in the last 15 minutes: at most ${most} %`
    : t`CPU utilization in the last 15 minutes: at most ${most} %`;
}

/** "GPU idle for 25 min"; null if it is not idle for a long time, or its owner has chosen to keep it
 * since (`keptAtMs`). */
export function idleGpuText(
  trend: UsageTrend | undefined,
  keptAtMs: number | null,
  nowMs: number,
): string | null {
  if (trend === undefined || trend.gpu_idle_since === null) return null;
  const since = Date.parse(trend.gpu_idle_since);
  if (nowMs - since < IDLE_HINT_MS || (keptAtMs !== null && keptAtMs > since)) return null;
  const time = duration(nowMs - since);
  return trend.gpu_idle_longer ? t`GPU idle for more than ${time}` : t`GPU idle for ${time}`;
}
