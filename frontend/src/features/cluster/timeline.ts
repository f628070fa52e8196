/** Positions of reservations in the timeline. Pure. */
import type { Reservation } from './types';

/** Return a node's reservations, the next first. */
export const reservationsOf = (node: string, reservations: readonly Reservation[]): Reservation[] =>
  reservations.filter((reservation) => reservation.nodes.includes(node));

export interface Span {
  /** its start and length, as fractions of the timeline, 0 to 1 */
  from: number;
  length: number;
}

const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
const MIN_SPAN = 12 * HOUR;
const MAX_SPAN = 30 * DAY;

/** Return the length of the timeline in ms: up to the last reservation, between half a day and a
 * month. */
export function timelineLength(reservations: readonly Reservation[], nowMs: number): number {
  const last = Math.max(
    0,
    ...reservations.map((reservation) => Date.parse(reservation.end) - nowMs),
  );
  return Math.min(MAX_SPAN, Math.max(MIN_SPAN, last * 1.05));
}

/** Return a reservation's position in the timeline; null: beyond its end. */
export function spanOf(
  { start, end }: Pick<Reservation, 'start' | 'end'>,
  nowMs: number,
  lengthMs: number,
): Span | null {
  const from = Math.max(0, (Date.parse(start) - nowMs) / lengthMs);
  const to = Math.min(1, (Date.parse(end) - nowMs) / lengthMs);
  return from >= 1 || to <= 0 ? null : { from, length: to - from };
}

/** Labels begin within this fraction of the timeline, so that their text fits. */
const ROOM = 0.85;

/** Return the times to label below a timeline: days in the reader's time zone, or hours if it is
 * short; few enough for a phone. */
export function ticks(nowMs: number, lengthMs: number): number[] {
  const inDays = lengthMs > 2 * DAY;
  const step = inDays
    ? DAY * Math.ceil(lengthMs / DAY / 4)
    : Math.max(6, Math.ceil(lengthMs / HOUR / 24) * 6) * HOUR;
  const first = inDays ? midnight(nowMs) : nextHour(nowMs, 6);
  const times: number[] = [];
  for (let time = first; time < nowMs + ROOM * lengthMs; time += step) times.push(time);
  // a label close to "now" would overlap it
  return times.filter((time) => time - nowMs > 0.12 * lengthMs);
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
