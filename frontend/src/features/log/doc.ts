/**
 * A log's text in blocks of lines. New output changes only the last block, earlier output adds
 * blocks in front, so a page redraws little, however long the log is. Pure.
 */
import { type Piece, PLAIN, paintLine, type Style } from '@/lib/ansi';
import { lastOverwrite } from '@/lib/terminal';

/** Complete lines; the last block of all may end in the middle of one. */
export interface Block {
  /** stays the same while it grows */
  key: number;
  /** as it was printed */
  lines: readonly string[];
  /** in which its first line begins */
  from: Style;
  /** in which the line after it begins, if it is full */
  to: Style | null;
}

export interface LogDoc {
  blocks: readonly Block[];
  characters: number;
}

export const EMPTY: LogDoc = { blocks: [], characters: 0 };

export const BLOCK_LINES = 200;

/** What a progress bar has overwritten needn't be kept: it may be all of a log. */
function settled(line: string): string {
  return line.slice(lastOverwrite(line)[0]);
}

function styleAfter(lines: readonly string[], from: Style): Style {
  let style = from;
  for (const line of lines) if (line.includes('\u001b')) style = paintLine(line, style).style;
  return style;
}

/** Lines as blocks, the last of which may be open. */
function cut(lines: readonly string[], from: Style, firstKey: number): Block[] {
  const blocks: Block[] = [];
  let style = from;
  for (let at = 0; at < lines.length; at += BLOCK_LINES) {
    const some = lines.slice(at, at + BLOCK_LINES);
    const full = at + BLOCK_LINES < lines.length;
    const to = full ? styleAfter(some, style) : null;
    blocks.push({ key: firstKey + blocks.length, lines: some, from: style, to });
    style = to ?? PLAIN;
  }
  return blocks;
}

const sizeOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, { lines }) => sum + lines.reduce((n, line) => n + line.length + 1, 0), 0);

/** The same with what came after it. */
export function append(doc: LogDoc, text: string): LogDoc {
  if (text === '') return doc;
  const last = doc.blocks.at(-1);
  const [first = '', ...others] = text.split('\n');
  const open = last?.lines.at(-1) ?? '';
  const lines = [
    ...(last?.lines.slice(0, -1) ?? []),
    settled(open + first),
    ...others.map(settled),
  ];
  const changed = cut(lines, last?.from ?? PLAIN, last?.key ?? 0);
  const before = doc.blocks.slice(0, -1);
  const grown = sizeOf(changed) - (last ? sizeOf([last]) : 0);
  return { blocks: [...before, ...changed], characters: doc.characters + grown };
}

/** The same with what was before it; its last line goes on in the first one that is there. */
export function prepend(doc: LogDoc, text: string): LogDoc {
  const [first, ...rest] = doc.blocks;
  if (text === '') return doc;
  if (first === undefined) return append(doc, text);
  const lines = text.split('\n').map(settled);
  const joined = settled((lines.pop() ?? '') + (first.lines[0] ?? ''));
  const begun: Block = { ...first, lines: [joined, ...first.lines.slice(1)] };
  const count = Math.ceil(lines.length / BLOCK_LINES);
  const added = cut(lines, PLAIN, first.key - count).map((block) =>
    block.to === null ? { ...block, to: styleAfter(block.lines, block.from) } : block,
  );
  const blocks = [...added, begun, ...rest];
  return { blocks, characters: sizeOf(added) + sizeOf([begun]) + doc.characters - sizeOf([first]) };
}

/** Without its first blocks, as far as it is longer than `limit`; one block stays. */
export function trim(doc: LogDoc, limit: number): LogDoc {
  let { characters } = doc;
  let at = 0;
  while (characters > limit && at < doc.blocks.length - 1) {
    const block = doc.blocks[at];
    if (block) characters -= sizeOf([block]);
    at++;
  }
  return at === 0 ? doc : { blocks: doc.blocks.slice(at), characters };
}

/** Blocks never change, so that each is painted once. */
const paintings = new WeakMap<Block, Piece[][]>();

/** A block's lines as they are shown. */
export function painted(block: Block): Piece[][] {
  const known = paintings.get(block);
  if (known !== undefined) return known;
  let style = block.from;
  const lines = block.lines.map((line) => {
    const { pieces, style: after } = paintLine(line, style);
    style = after;
    return pieces;
  });
  paintings.set(block, lines);
  return lines;
}

/** All of it as plain text. */
export function plainText(doc: LogDoc): string {
  return doc.blocks
    .flatMap((block) => painted(block).map((pieces) => pieces.map(({ text }) => text).join('')))
    .join('\n');
}
