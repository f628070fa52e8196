import { memo } from 'react';
import type { Piece, Style } from '@/lib/ansi';
import { type Block, painted } from './doc';
import { type Found, type MarkedPiece, marked } from './find';
import classes from './LogText.module.css';

function classOf({ front, back, inverse, marks }: Style): string | undefined {
  const names = [...marks, ...(front ? [front] : []), ...(back ? [`on-${back}`] : [])];
  if (inverse) names.push('inverse');
  return names.length === 0 ? undefined : names.map((name) => classes[name] ?? '').join(' ');
}

interface Props {
  block: Block;
  /** whether another block's line follows */
  last: boolean;
  found: readonly Found[];
  current: Found | null;
}

/** Some lines of a log. Those that aren't in sight cost the browser next to nothing. */
export const LogBlock = memo(function LogBlock({ block, last, found, current }: Props) {
  const lines = painted(block);
  const end = last ? '' : '\n';
  const plain = found.length === 0 && lines.every(isBare);
  return (
    <span
      className={classes.block}
      style={{ containIntrinsicBlockSize: `auto ${(lines.length * 1.2).toFixed(1)}rem` }}
    >
      {plain
        ? lines.map((pieces) => pieces[0]?.text ?? '').join('\n') + end
        : lines.map((pieces, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line has no other name than its place
            <Line key={line} pieces={pieces} found={foundInLine(found, line)} current={current}>
              {line + 1 < lines.length ? '\n' : end}
            </Line>
          ))}
    </span>
  );
});

const isBare = (pieces: readonly Piece[]): boolean =>
  pieces.length === 0 || (pieces.length === 1 && classOf((pieces[0] as Piece).style) === undefined);

const foundInLine = (found: readonly Found[], line: number): Found[] =>
  found.filter((one) => one.line === line);

interface LineProps {
  pieces: readonly Piece[];
  found: readonly Found[];
  current: Found | null;
  /** what ends it */
  children: string;
}

function Line({ pieces, found, current, children }: LineProps) {
  return (
    <>
      {marked(pieces, found).map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a piece has no other name than its place
        <Shown key={at} piece={piece} current={current} />
      ))}
      {children}
    </>
  );
}

function Shown({ piece, current }: { piece: MarkedPiece; current: Found | null }) {
  const { text, style, found } = piece;
  const className = classOf(style);
  if (found === null)
    return className === undefined ? text : <span className={className}>{text}</span>;
  const now = isSame(found, current);
  return (
    <mark className={now ? classes.current : classes.found} data-current={now || undefined}>
      {text}
    </mark>
  );
}

/** Matches are searched again with each new line. */
function isSame(one: Found, other: Found | null): boolean {
  return (
    other !== null && one.key === other.key && one.line === other.line && one.start === other.start
  );
}
