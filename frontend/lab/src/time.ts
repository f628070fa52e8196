/** When a session ends, and when to warn of it. Pure. */
import { durationIn, localTimeIn, type TimeLeft, timeLeftIn } from '@/lib/durations';
import { messages } from './messages';

const MINUTE = 60_000;

/** Milliseconds before the end, the earliest first. */
export const WARN_AT = [15 * MINUTE, 5 * MINUTE] as const;

export type Urgency = 'calm' | 'soon' | 'urgent';

/** How near the end is. */
export function urgency(leftMs: number): Urgency {
  const [soon, urgent] = WARN_AT;
  if (leftMs <= urgent) return 'urgent';
  return leftMs <= soon ? 'soon' : 'calm';
}

/** What the portal's clock shows, by a browser's that may be wrong. */
export const clockOffset = (portalNow: string, browserMs: number): number => {
  const offset = Date.parse(portalNow) - browserMs;
  return Number.isFinite(offset) ? offset : 0;
};

/** Which warning is due: its number of milliseconds, or null. `given` was the last for this end. */
export function warningDue(leftMs: number, given: number | null): number | null {
  if (leftMs <= 0) return null;
  const due = [...WARN_AT].reverse().find((before) => leftMs <= before);
  return due !== undefined && (given === null || due < given) ? due : null;
}

export const timeLeft = (expiresAt: string | null, nowMs: number): TimeLeft | null =>
  timeLeftIn(messages.spans, expiresAt, nowMs);

/** A minute at least: what is shorter is not spoken of. */
export const duration = (ms: number): string => durationIn(messages.spans, Math.max(ms, MINUTE));

export const localTime = (at: string, nowMs: number): string =>
  localTimeIn(messages.locale, at, nowMs);
