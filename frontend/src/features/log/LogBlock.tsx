import { memo } from 'react';
import type { Piece, Style } from '@/lib/ansi';
import { type Block, paintBlock } from './doc';
import { isSameMatch, type Match, type SearchedPiece, splitAtMatches } from './find';
import classes from './LogText.module.css';

function classOf({ front, back, inverse, attributes }: Style): string | undefined {
  const names = [...attributes, ...(front ? [front] : []), ...(back ? [`on-${back}`] : [])];
  if (inverse) names.push('inverse');
  return names.length === 0 ? undefined : names.map((name) => classes[name] ?? '').join(' ');
}

interface Props {
  block: Block;
  /** whether no other block follows */
  last: boolean;
  matches: readonly Match[];
  current: Match | null;
}

/** A block of a log's lines. With an estimated size, the browser lays out only blocks in the viewport. */
export const LogBlock = memo(function LogBlock({ block, last, matches, current }: Props) {
  const lines = paintBlock(block);
  const end = last ? '' : '\n';
  const plain = matches.length === 0 && lines.every(isBare);
  return (
    <span
      className={classes.block}
      style={{ containIntrinsicBlockSize: `auto ${(lines.length * 1.2).toFixed(1)}rem` }}
    >
      {plain
        ? lines.map((pieces) => pieces[0]?.text ?? '').join('\n') + end
        : lines.map((pieces, line) => (
            <Line
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their index
              key={line}
              pieces={pieces}
              matches={matchesInLine(matches, line)}
              current={current}
            >
              {line + 1 < lines.length ? '\n' : end}
            </Line>
          ))}
    </span>
  );
});

const isBare = (pieces: readonly Piece[]): boolean =>
  pieces.length === 0 || (pieces.length === 1 && classOf((pieces[0] as Piece).style) === undefined);

const matchesInLine = (matches: readonly Match[], line: number): Match[] =>
  matches.filter((match) => match.line === line);

interface LineProps {
  pieces: readonly Piece[];
  matches: readonly Match[];
  current: Match | null;
  /** the line's end */
  children: string;
}

function Line({ pieces, matches, current, children }: LineProps) {
  return (
    <>
      {splitAtMatches(pieces, matches).map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their position
        <SearchedText key={index} piece={piece} current={current} />
      ))}
      {children}
    </>
  );
}

function SearchedText({ piece, current }: { piece: SearchedPiece; current: Match | null }) {
  const { text, style, match } = piece;
  const className = classOf(style);
  if (match === null)
    return className === undefined ? text : <span className={className}>{text}</span>;
  const isCurrent = current !== null && isSameMatch(match, current);
  return (
    <mark
      className={isCurrent ? classes.current : classes.found}
      data-current={isCurrent || undefined}
    >
      {text}
    </mark>
  );
}
