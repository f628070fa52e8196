/** Which announcements are shown, and what of them someone has put away. Pure. */

import type { Announcement, Level } from '@/live/types';

type Times = Pick<Announcement, 'starts_at' | 'ends_at'>;
export type AnnouncementState = 'planned' | 'shown' | 'over';

export function announcementState({ starts_at, ends_at }: Times, nowMs: number): AnnouncementState {
  if (ends_at !== null && Date.parse(ends_at) <= nowMs) return 'over';
  return Date.parse(starts_at) > nowMs ? 'planned' : 'shown';
}

const RANK: Record<Level, number> = { critical: 0, warning: 1, info: 2 };

/** By weight, then the newest first. */
function inOrder(all: readonly Announcement[]): Announcement[] {
  return [...all].sort(
    (a, b) => RANK[a.level] - RANK[b.level] || b.starts_at.localeCompare(a.starts_at),
  );
}

/** Short and the same for the same text (32 bits of FNV-1a); it keeps no secret. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** Names one text of an announcement: what was edited since is news again. */
export const textKey = ({ id, level, title, text }: Announcement): string =>
  `${id}@${digest(JSON.stringify([level, title, text]))}`;

export const canDismiss = ({ level }: Pick<Announcement, 'level'>): boolean => level !== 'critical';

/** What stands at the top of the page now. */
export function visibleAnnouncements(
  all: readonly Announcement[],
  dismissed: ReadonlySet<string>,
  nowMs: number,
): Announcement[] {
  return inOrder(
    all.filter(
      (one) =>
        announcementState(one, nowMs) === 'shown' &&
        !(canDismiss(one) && dismissed.has(textKey(one))),
    ),
  );
}

/** Those that are shown until all are wanted: as many as leave room for the page. */
export const atFirst = (
  shown: readonly Announcement[],
  open: boolean,
  most: number,
): readonly Announcement[] => (open ? shown : shown.slice(0, most));

/** More than these are never on show at once; older ones are forgotten. */
const MAX_DISMISSED = 50;

export function withDismissed(keys: readonly string[], key: string): string[] {
  return [...keys.filter((known) => known !== key), key].slice(-MAX_DISMISSED);
}

/** What a browser has kept; anything that isn't a list of texts counts as nothing. */
export function readDismissed(stored: string | null): string[] {
  if (stored === null) return [];
  try {
    const value: unknown = JSON.parse(stored);
    return Array.isArray(value) ? value.filter((key) => typeof key === 'string') : [];
  } catch {
    return [];
  }
}

export interface Piece {
  text: string;
  /** a web address that the text names */
  href?: string;
}

// The address ends before what ends a sentence around it.
const ADDRESS = /https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]]/g;

/** Split a text into plain text and web addresses; markup counts as text. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(ADDRESS)) {
    if (match.index > at) found.push({ text: text.slice(at, match.index) });
    found.push({ text: match[0], href: match[0] });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at) });
  return found;
}
