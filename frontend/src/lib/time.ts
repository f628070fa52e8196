/** Words for times and durations. Everything takes its "now" as an argument. */
import { t } from '@lingui/core/macro';
import { locale } from '@/i18n';
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

/** "45 s", "8 min", "3 h 09 min", "36 h", "2 d 4 h". Never negative. */
export const duration = (ms: number): string => durationIn(labels, ms);

/** A short measured time: "0.4 s", "2.1 s", then as `duration`. */
export const elapsed = (ms: number): string => elapsedIn(labels, ms);

export const minutesAsTime = (minutes: number): string => duration(minutes * MINUTE);

/** "14:59 min", "9 s": for what one watches run out. */
export const countdown = (ms: number): string => countdownIn(labels, ms);

/** The time left until `expiresAt`; in the last quarter hour it counts minutes and seconds. */
export const timeLeft = (expiresAt: string | null, nowMs: number): TimeLeft | null =>
  timeLeftIn(labels, expiresAt, nowMs);

/** "just now", "4 min ago", "2 h 05 min ago"; beyond a day the caller shows the date. */
export function ago(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  if (ms < MINUTE) return t`just now`;
  const time = duration(ms);
  return t`${time} ago`;
}

/** A time in the reader's zone: only the hour if it is today, else with the day. */
export const localTime = (at: string, nowMs: number, as: string = locale()): string =>
  localTimeIn(as, at, nowMs);

/** "2026-03-01 12:03:09 UTC", for titles. */
export function utcTime(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
