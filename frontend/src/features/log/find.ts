/** Search in a log, and marking of matches in its lines. Pure. */
import type { Piece } from '@/lib/ansi';
import { type Block, type LogDoc, paintBlock } from './doc';

/** More matches are not counted. */
export const MAX_FOUND = 2000;

export interface Match {
  /** `line` is the line's index in the block with this key */
  blockKey: number;
  line: number;
  start: number;
  end: number;
}

export interface SearchResult {
  matches: readonly Match[];
  /** whether there are more than `matches` contains */
  more: boolean;
}

/** Return whether two matches are at the same place: each new line of the log makes new objects. */
export const isSameMatch = (match: Match, other: Match): boolean =>
  match.blockKey === other.blockKey && match.line === other.line && match.start === other.start;

const NOTHING_FOUND: SearchResult = { matches: [], more: false };

const textOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('');

/** Return the non-overlapping matches in a line, ignoring case. */
function findInLine(line: string, query: string): { start: number; end: number }[] {
  const [hay, needle] = [line.toLowerCase(), query.toLowerCase()];
  // A few letters change their length with their case; positions would shift, so compare case-
  // sensitively.
  const [text, search] = hay.length === line.length ? [hay, needle] : [line, query];
  const matches: { start: number; end: number }[] = [];
  for (
    let position = text.indexOf(search);
    position >= 0;
    position = text.indexOf(search, position + search.length)
  )
    matches.push({ start: position, end: position + search.length });
  return matches;
}

function findInBlock(block: Block, query: string): Match[] {
  return paintBlock(block).flatMap((pieces, line) =>
    findInLine(textOf(pieces), query).map((range) => ({ blockKey: block.key, line, ...range })),
  );
}

/** Return all matches, from the beginning; none for an empty text. */
export function findMatches(doc: LogDoc, query: string): SearchResult {
  if (query === '') return NOTHING_FOUND;
  const matches: Match[] = [];
  for (const block of doc.blocks) {
    matches.push(...findInBlock(block, query));
    if (matches.length > MAX_FOUND) return { matches: matches.slice(0, MAX_FOUND), more: true };
  }
  return { matches, more: false };
}

/** A piece of a line inside a match, or outside (null). */
export interface SearchedPiece extends Piece {
  match: Match | null;
}

/** Split a line's pieces at `matches`, which are in order. */
export function splitAtMatches(
  pieces: readonly Piece[],
  matches: readonly Match[],
): SearchedPiece[] {
  const cuts = matches.flatMap(({ start, end }) => [start, end]);
  const result: SearchedPiece[] = [];
  let position = 0;
  for (const { text, style } of pieces) {
    const end = position + text.length;
    const inner = [position, ...cuts.filter((cut) => cut > position && cut < end), end];
    for (let i = 0; i + 1 < inner.length; i++) {
      const [from = position, to = end] = [inner[i], inner[i + 1]];
      const match =
        matches.find((candidate) => candidate.start <= from && candidate.end >= to) ?? null;
      result.push({ text: text.slice(from - position, to - position), style, match });
    }
    position = end;
  }
  return result;
}
