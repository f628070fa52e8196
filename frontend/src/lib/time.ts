/** Words for times and durations. Everything takes its "now" as an argument. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Under this much time left a session's end deserves a warning. */
export const WARN_BEFORE_END_MS = 15 * MINUTE;

/** "45 s", "8 min", "3 h 09 min", "36 h", "2 d 4 h". Never negative. */
export function duration(ms: number): string {
  const left = Math.max(0, ms);
  if (left < MINUTE) return `${Math.floor(left / SECOND)} s`;
  if (left < HOUR) return `${Math.floor(left / MINUTE)} min`;
  if (left < 2 * DAY) {
    const minutes = Math.floor((left % HOUR) / MINUTE);
    const hours = Math.floor(left / HOUR);
    return minutes === 0 ? `${hours} h` : `${hours} h ${String(minutes).padStart(2, '0')} min`;
  }
  const days = Math.floor(left / DAY);
  const hours = Math.floor((left % DAY) / HOUR);
  return hours === 0 ? `${days} d` : `${days} d ${hours} h`;
}

/** A short measured time: "0.4 s", "2.1 s", then as `duration`. */
export function elapsed(ms: number): string {
  return ms < 10 * SECOND ? `${(Math.max(0, ms) / SECOND).toFixed(1)} s` : duration(ms);
}

export const minutesAsTime = (minutes: number): string => duration(minutes * MINUTE);

/** "14:59 min", "9 s": for what one watches run out. */
export function countdown(ms: number): string {
  const minutes = Math.floor(ms / MINUTE);
  const seconds = Math.floor((ms % MINUTE) / SECOND);
  return minutes > 0 ? `${minutes}:${String(seconds).padStart(2, '0')} min` : `${seconds} s`;
}

export interface TimeLeft {
  text: string;
  warning: boolean;
  over: boolean;
}

/** What is left until `expiresAt`; in the last quarter hour it counts minutes and seconds. */
export function timeLeft(expiresAt: string | null, nowMs: number): TimeLeft | null {
  if (expiresAt === null) return null;
  const end = Date.parse(expiresAt);
  if (Number.isNaN(end)) return null;
  const ms = end - nowMs;
  if (ms <= 0) return { text: 'time is up', warning: true, over: true };
  const warning = ms < WARN_BEFORE_END_MS;
  return { text: warning ? countdown(ms) : duration(ms), warning, over: false };
}

/** "just now", "4 min ago", "2 h 05 min ago"; beyond a day the caller shows the date. */
export function ago(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  return ms < MINUTE ? 'just now' : `${duration(ms)} ago`;
}

/** A time in the reader's zone: only the hour if it is today, else with the day. */
export function localTime(at: string, nowMs: number, locale?: string): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === new Date(nowMs).toDateString()) return time;
  const sameYear = date.getFullYear() === new Date(nowMs).getFullYear();
  const day = date.toLocaleDateString(locale, {
    day: 'numeric',
    month: 'short',
    ...(sameYear ? {} : { year: 'numeric' }),
  });
  return `${day}, ${time}`;
}

/** "2026-03-01 12:03:09 UTC", for titles. */
export function utcTime(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
