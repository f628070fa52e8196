/** Finding words in a log, and marking them in its lines. Pure. */
import type { Piece } from '@/lib/ansi';
import { type Block, type LogDoc, painted } from './doc';

/** More matches are not counted. */
export const MOST_FOUND = 2000;

export interface Found {
  /** of the block, and the line in it */
  key: number;
  line: number;
  start: number;
  end: number;
}

export interface Finding {
  found: readonly Found[];
  /** there are more than `found` holds */
  more: boolean;
}

const NOTHING_FOUND: Finding = { found: [], more: false };

const textOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('');

/** Where a line has it, small or capital letters; not overlapping. */
function inLine(line: string, wanted: string): { start: number; end: number }[] {
  const [hay, needle] = [line.toLowerCase(), wanted.toLowerCase()];
  // A few letters change their length with their case; positions would shift, so compare case-
  // sensitively.
  const [where, what] = hay.length === line.length ? [hay, needle] : [line, wanted];
  const found: { start: number; end: number }[] = [];
  for (let at = where.indexOf(what); at >= 0; at = where.indexOf(what, at + what.length))
    found.push({ start: at, end: at + what.length });
  return found;
}

function inBlock(block: Block, wanted: string): Found[] {
  return painted(block).flatMap((pieces, line) =>
    inLine(textOf(pieces), wanted).map((place) => ({ key: block.key, line, ...place })),
  );
}

/** All places, from the beginning; an empty text is nowhere. */
export function find(doc: LogDoc, wanted: string): Finding {
  if (wanted === '') return NOTHING_FOUND;
  const found: Found[] = [];
  for (const block of doc.blocks) {
    found.push(...inBlock(block, wanted));
    if (found.length > MOST_FOUND) return { found: found.slice(0, MOST_FOUND), more: true };
  }
  return { found, more: false };
}

/** A piece that a search has found, or null for one in between. */
export interface MarkedPiece extends Piece {
  found: Found | null;
}

/** A line's pieces cut where something was found. `places` in their order. */
export function marked(pieces: readonly Piece[], places: readonly Found[]): MarkedPiece[] {
  const cuts = places.flatMap(({ start, end }) => [start, end]);
  const result: MarkedPiece[] = [];
  let at = 0;
  for (const { text, style } of pieces) {
    const end = at + text.length;
    const inner = [at, ...cuts.filter((place) => place > at && place < end), end];
    for (let i = 0; i + 1 < inner.length; i++) {
      const [from = at, to = end] = [inner[i], inner[i + 1]];
      const found = places.find((place) => place.start <= from && place.end >= to) ?? null;
      result.push({ text: text.slice(from - at, to - at), style, found });
    }
    at = end;
  }
  return result;
}
