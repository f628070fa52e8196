/** The session's time left, and when to warn about its end. Pure. */
import { durationIn, localTimeIn, type TimeLeft, timeLeftIn } from '@/lib/durations';
import { messages } from './messages';

const MINUTE = 60_000;

/** Milliseconds before the end, the earliest first. */
export const WARN_AT = [15 * MINUTE, 5 * MINUTE] as const;

export type Urgency = 'calm' | 'soon' | 'urgent';

/** Return how urgent the end is. */
export function urgency(leftMs: number): Urgency {
  const [soon, urgent] = WARN_AT;
  if (leftMs <= urgent) return 'urgent';
  return leftMs <= soon ? 'soon' : 'calm';
}

/** Return the offset between the portal's clock and the browser's, which may be wrong. */
export const clockOffset = (portalNow: string, browserMs: number): number => {
  const offset = Date.parse(portalNow) - browserMs;
  return Number.isFinite(offset) ? offset : 0;
};

/** Return the warning that is due, in milliseconds before the end, or null. `lastGiven` is the last
 * for this end. */
export function warningDue(leftMs: number, lastGiven: number | null): number | null {
  if (leftMs <= 0) return null;
  const due = [...WARN_AT].reverse().find((before) => leftMs <= before);
  return due !== undefined && (lastGiven === null || due < lastGiven) ? due : null;
}

export const timeLeft = (expiresAt: string | null, nowMs: number): TimeLeft | null =>
  timeLeftIn(messages.spans, expiresAt, nowMs);

/** Format a duration, which is at least one minute. */
export const duration = (ms: number): string => durationIn(messages.spans, Math.max(ms, MINUTE));

export const localTime = (at: string, nowMs: number): string =>
  localTimeIn(messages.locale, at, nowMs);
