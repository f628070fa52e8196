/** The announcements to show, and those that the user has dismissed. Pure. */

import type { Announcement, Level } from '@/live/types';

type Times = Pick<Announcement, 'starts_at' | 'ends_at'>;
export type AnnouncementState = 'planned' | 'shown' | 'over';

export function announcementState({ starts_at, ends_at }: Times, nowMs: number): AnnouncementState {
  if (ends_at !== null && Date.parse(ends_at) <= nowMs) return 'over';
  return Date.parse(starts_at) > nowMs ? 'planned' : 'shown';
}

const RANK: Record<Level, number> = { critical: 0, warning: 1, info: 2 };

/** Sort by level, then newest first. */
function inOrder(all: readonly Announcement[]): Announcement[] {
  return [...all].sort(
    (a, b) => RANK[a.level] - RANK[b.level] || b.starts_at.localeCompare(a.starts_at),
  );
}

/** Return a short hash (32-bit FNV-1a). It protects no secret. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** Return a key for one version of an announcement: an edited text is shown again. */
export const textKey = ({ id, level, title, text }: Announcement): string =>
  `${id}@${digest(JSON.stringify([level, title, text]))}`;

export const canDismiss = ({ level }: Pick<Announcement, 'level'>): boolean => level !== 'critical';

/** Return the announcements to show at the top of the page now. */
export function visibleAnnouncements(
  all: readonly Announcement[],
  dismissed: ReadonlySet<string>,
  nowMs: number,
): Announcement[] {
  return inOrder(
    all.filter(
      (announcement) =>
        announcementState(announcement, nowMs) === 'shown' &&
        !(canDismiss(announcement) && dismissed.has(textKey(announcement))),
    ),
  );
}

/** Return all announcements if the list is expanded, else the first `limit`. */
export const withinLimit = (
  shown: readonly Announcement[],
  isExpanded: boolean,
  limit: number,
): readonly Announcement[] => (isExpanded ? shown : shown.slice(0, limit));

/** More than these are never shown at once; older keys are dropped. */
const MAX_DISMISSED = 50;

export function withDismissed(keys: readonly string[], key: string): string[] {
  return [...keys.filter((other) => other !== key), key].slice(-MAX_DISMISSED);
}

/** Parse the dismissed keys that a browser has stored; anything but a list of strings is empty. */
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
  /** a web address in the text */
  href?: string;
}

// An address ends before the punctuation of the sentence around it.
const ADDRESS = /https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]]/g;

/** Split a text into plain text and web addresses; markup counts as text. */
export function splitLinks(text: string): Piece[] {
  const result: Piece[] = [];
  let position = 0;
  for (const match of text.matchAll(ADDRESS)) {
    if (match.index > position) result.push({ text: text.slice(position, match.index) });
    result.push({ text: match[0], href: match[0] });
    position = match.index + match[0].length;
  }
  if (position < text.length) result.push({ text: text.slice(position) });
  return result;
}
