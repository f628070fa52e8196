/** Positions of reservations in the timeline. Pure. */
import type { Reservation } from './types';

/** Return a node's reservations, the next first. */
export const reservationsOf = (node: string, ahead: readonly Reservation[]): Reservation[] =>
  ahead.filter((reservation) => reservation.nodes.includes(node));

export interface Span {
  /** its start and length, as fractions of the timeline, 0 to 1 */
  from: number;
  long: number;
}

const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
const MIN_SPAN = 12 * HOUR;
const MAX_SPAN = 30 * DAY;

/** Return the length of the timeline in ms: up to the last reservation, between half a day and a
 * month. */
export function timelineLength(ahead: readonly Reservation[], nowMs: number): number {
  const last = Math.max(0, ...ahead.map((reservation) => Date.parse(reservation.end) - nowMs));
  return Math.min(MAX_SPAN, Math.max(MIN_SPAN, last * 1.05));
}

/** Return a reservation's position in the timeline; null: beyond its end. */
export function spanOf(
  { start, end }: Pick<Reservation, 'start' | 'end'>,
  nowMs: number,
  reachMs: number,
): Span | null {
  const from = Math.max(0, (Date.parse(start) - nowMs) / reachMs);
  const to = Math.min(1, (Date.parse(end) - nowMs) / reachMs);
  return from >= 1 || to <= 0 ? null : { from, long: to - from };
}

/** Labels begin within this fraction of the timeline, so that their text fits. */
const ROOM = 0.85;

/** Return the times to label below a timeline: days in the reader's time zone, or hours if it is
 * short; few enough for a phone. */
export function ticks(nowMs: number, reachMs: number): number[] {
  const inDays = reachMs > 2 * DAY;
  const step = inDays
    ? DAY * Math.ceil(reachMs / DAY / 4)
    : Math.max(6, Math.ceil(reachMs / HOUR / 24) * 6) * HOUR;
  const first = inDays ? midnight(nowMs) : nextHour(nowMs, 6);
  const times: number[] = [];
  for (let time = first; time < nowMs + ROOM * reachMs; time += step) times.push(time);
  // a label close to "now" would overlap it
  return times.filter((time) => time - nowMs > 0.12 * reachMs);
}

function midnight(nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(24, 0, 0, 0);
  return day.getTime();
}

function nextHour(nowMs: number, every: number): number {
  const at = new Date(nowMs);
  at.setHours(Math.floor(at.getHours() / every) * every + every, 0, 0, 0);
  return at.getTime();
}
