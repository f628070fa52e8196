/** Formats of durations and times with given labels: for the pages and for JupyterLab. Pure. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** With less time left, a session's end deserves a warning. */
export const WARN_BEFORE_END_MS = 15 * MINUTE;

/** A language's formats; minutes after hours and seconds after minutes have two digits. */
export interface DurationLabels {
  seconds: (seconds: number | string) => string;
  minutes: (minutes: number) => string;
  hours: (hours: number) => string;
  hoursMinutes: (hours: number, minutes: string) => string;
  days: (days: number) => string;
  daysHours: (days: number, hours: number) => string;
  minutesSeconds: (minutes: number, seconds: string) => string;
  /** no time is left */
  over: () => string;
}

export const twoDigits = (number: number): string => String(number).padStart(2, '0');

/** Format a duration: seconds below a minute, minutes below an hour, hours below two days. Never
 * negative. */
export function durationIn(labels: DurationLabels, ms: number): string {
  const left = Math.max(0, ms);
  if (left < MINUTE) return labels.seconds(Math.floor(left / SECOND));
  if (left < HOUR) return labels.minutes(Math.floor(left / MINUTE));
  if (left < 2 * DAY) {
    const minutes = Math.floor((left % HOUR) / MINUTE);
    const hours = Math.floor(left / HOUR);
    return minutes === 0 ? labels.hours(hours) : labels.hoursMinutes(hours, twoDigits(minutes));
  }
  const days = Math.floor(left / DAY);
  const hours = Math.floor((left % DAY) / HOUR);
  return hours === 0 ? labels.days(days) : labels.daysHours(days, hours);
}

/** Format a short measured time with one decimal; from ten seconds on like `durationIn`. */
export function elapsedIn(labels: DurationLabels, ms: number): string {
  if (ms >= 10 * SECOND) return durationIn(labels, ms);
  return labels.seconds((Math.max(0, ms) / SECOND).toFixed(1));
}

/** Format a countdown: minutes with seconds. */
export function countdownIn(labels: DurationLabels, ms: number): string {
  const minutes = Math.floor(ms / MINUTE);
  const seconds = Math.floor((ms % MINUTE) / SECOND);
  return minutes > 0 ? labels.minutesSeconds(minutes, twoDigits(seconds)) : labels.seconds(seconds);
}

export interface TimeLeft {
  text: string;
  warning: boolean;
  over: boolean;
}

/** Format the time left until `expiresAt`; in the last 15 minutes with seconds. */
export function timeLeftIn(
  labels: DurationLabels,
  expiresAt: string | null,
  nowMs: number,
): TimeLeft | null {
  if (expiresAt === null) return null;
  const end = Date.parse(expiresAt);
  if (Number.isNaN(end)) return null;
  const ms = end - nowMs;
  if (ms <= 0) return { text: labels.over(), warning: true, over: true };
  const warning = ms < WARN_BEFORE_END_MS;
  return { text: (warning ? countdownIn : durationIn)(labels, ms), warning, over: false };
}

/** Format a time in the reader's zone: only the time of day if it is today, else with the date. */
export function localTimeIn(locale: string | undefined, at: string, nowMs: number): string {
  const date = new Date(at);
  const now = new Date(nowMs);
  const time = { hour: '2-digit', minute: '2-digit' } as const;
  if (date.toDateString() === now.toDateString()) return date.toLocaleTimeString(locale, time);
  return date.toLocaleString(locale, {
    day: 'numeric',
    month: 'short',
    ...(date.getFullYear() === now.getFullYear() ? {} : { year: 'numeric' }),
    ...time,
  });
}
