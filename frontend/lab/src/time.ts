/** When a session ends, and when to warn of it. Pure. */
import { timeLeft } from '@/lib/time';

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

/** How much can be added, in steps that people think in; the last is all there is. */
export function choices(mostMinutes: number): number[] {
  const usual = [60, 120, 240, 480, 1440].filter((minutes) => minutes <= mostMinutes);
  return usual.length > 0 ? usual.slice(0, 3) : [mostMinutes].filter((minutes) => minutes > 0);
}

export { timeLeft };
