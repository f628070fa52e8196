/** Formats of times and durations. All functions take "now" as an argument. */
import { t } from '@lingui/core/macro';
import { dateLocale } from '@/i18n';
import {
  countdownIn,
  type DurationLabels,
  durationIn,
  elapsedIn,
  localTimeIn,
  type TimeLeft,
  timeLeftIn,
} from './durations';

export { WARN_BEFORE_END_MS } from './durations';

const MINUTE = 60_000;

const labels: DurationLabels = {
  seconds: (seconds) => t`${seconds} s`,
  minutes: (minutes) => t`${minutes} min`,
  hours: (hours) => t`${hours} h`,
  hoursMinutes: (hours, minutes) => t`${hours} h ${minutes} min`,
  days: (days) => t`${days} d`,
  daysHours: (days, hours) => t`${days} d ${hours} h`,
  minutesSeconds: (minutes, seconds) => t`${minutes}:${seconds} min`,
  over: () => t`time is up`,
};

/** Format a duration: "45 s", "8 min", "3 h 09 min", "36 h", "2 d 4 h". Never negative. */
export const duration = (ms: number): string => durationIn(labels, ms);

/** Format a short measured time: "0.4 s", "2.1 s", then like `duration`. */
export const elapsed = (ms: number): string => elapsedIn(labels, ms);

export const minutesAsTime = (minutes: number): string => duration(minutes * MINUTE);

/** Format a countdown: "14:59 min", "9 s". */
export const countdown = (ms: number): string => countdownIn(labels, ms);

/** Format the time left until `expiresAt`; in the last 15 minutes with seconds. */
export const timeLeft = (expiresAt: string | null, nowMs: number): TimeLeft | null =>
  timeLeftIn(labels, expiresAt, nowMs);

/** Format a past time: "just now", "4 min ago", "2 h 05 min ago"; above a day the caller shows the
 * date. */
export function ago(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  if (ms < MINUTE) return t`just now`;
  const time = duration(ms);
  return t`${time} ago`;
}

/** Format a time in the reader's zone: only the time of day if it is today, else with the date. */
export const localTime = (at: string, nowMs: number, as: string = dateLocale()): string =>
  localTimeIn(as, at, nowMs);

/** Format a time for tooltips: "2026-03-01 12:03:09 UTC". */
export function utcTime(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
