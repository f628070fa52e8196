/**
 * A log's text in blocks of lines. New output changes only the last block, earlier output adds
 * blocks in front, so a page redraws little, however long the log is. Pure.
 */
import { type Piece, PLAIN, paintLine, type Style } from '@/lib/ansi';
import { lastOverwrite } from '@/lib/terminal';

/** Complete lines; the very last block may end in the middle of a line. */
export interface Block {
  /** unchanged while the block grows */
  key: number;
  /** as printed */
  lines: readonly string[];
  /** the style in which its first line begins */
  from: Style;
  /** the style in which the following line begins, if the block is full */
  to: Style | null;
}

export interface LogDoc {
  blocks: readonly Block[];
  characters: number;
}

export const EMPTY: LogDoc = { blocks: [], characters: 0 };

export const BLOCK_LINES = 200;

/** Drop what a progress bar has overwritten: it may be most of a log. */
function dropOverwritten(line: string): string {
  return line.slice(lastOverwrite(line)[0]);
}

function styleAfter(lines: readonly string[], from: Style): Style {
  let style = from;
  for (const line of lines) if (line.includes('\u001b')) style = paintLine(line, style).style;
  return style;
}

/** Split lines into blocks, the last of which may be incomplete. */
function toBlocks(lines: readonly string[], from: Style, firstKey: number): Block[] {
  const blocks: Block[] = [];
  let style = from;
  for (let position = 0; position < lines.length; position += BLOCK_LINES) {
    const chunk = lines.slice(position, position + BLOCK_LINES);
    const full = position + BLOCK_LINES < lines.length;
    const to = full ? styleAfter(chunk, style) : null;
    blocks.push({ key: firstKey + blocks.length, lines: chunk, from: style, to });
    style = to ?? PLAIN;
  }
  return blocks;
}

const sizeOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, { lines }) => sum + lines.reduce((n, line) => n + line.length + 1, 0), 0);

/** Return the document with later output appended. */
export function append(doc: LogDoc, text: string): LogDoc {
  if (text === '') return doc;
  const last = doc.blocks.at(-1);
  const [first = '', ...rest] = text.split('\n');
  const open = last?.lines.at(-1) ?? '';
  const lines = [
    ...(last?.lines.slice(0, -1) ?? []),
    dropOverwritten(open + first),
    ...rest.map(dropOverwritten),
  ];
  const changed = toBlocks(lines, last?.from ?? PLAIN, last?.key ?? 0);
  const before = doc.blocks.slice(0, -1);
  const grown = sizeOf(changed) - (last ? sizeOf([last]) : 0);
  return { blocks: [...before, ...changed], characters: doc.characters + grown };
}

/** Return the document with earlier output in front; its last line continues in the present first
 * one. */
export function prepend(doc: LogDoc, text: string): LogDoc {
  const [first, ...rest] = doc.blocks;
  if (text === '') return doc;
  if (first === undefined) return append(doc, text);
  const lines = text.split('\n').map(dropOverwritten);
  const joined = dropOverwritten((lines.pop() ?? '') + (first.lines[0] ?? ''));
  const firstBlock: Block = { ...first, lines: [joined, ...first.lines.slice(1)] };
  const count = Math.ceil(lines.length / BLOCK_LINES);
  const added = toBlocks(lines, PLAIN, first.key - count).map((block) =>
    block.to === null ? { ...block, to: styleAfter(block.lines, block.from) } : block,
  );
  const blocks = [...added, firstBlock, ...rest];
  return {
    blocks,
    characters: sizeOf(added) + sizeOf([firstBlock]) + doc.characters - sizeOf([first]),
  };
}

/** Drop the first blocks while the document is longer than `limit`; keep at least one. */
export function trim(doc: LogDoc, limit: number): LogDoc {
  let { characters } = doc;
  let position = 0;
  while (characters > limit && position < doc.blocks.length - 1) {
    const block = doc.blocks[position];
    if (block) characters -= sizeOf([block]);
    position++;
  }
  return position === 0 ? doc : { blocks: doc.blocks.slice(position), characters };
}

/** Blocks are immutable, so each is painted once. */
const paintings = new WeakMap<Block, Piece[][]>();

/** Return a block's lines with their styles. */
export function paintBlock(block: Block): Piece[][] {
  const cached = paintings.get(block);
  if (cached !== undefined) return cached;
  let style = block.from;
  const lines = block.lines.map((line) => {
    const { pieces, style: after } = paintLine(line, style);
    style = after;
    return pieces;
  });
  paintings.set(block, lines);
  return lines;
}

/** Return the whole document as plain text. */
export function plainText(doc: LogDoc): string {
  return doc.blocks
    .flatMap((block) => paintBlock(block).map((pieces) => pieces.map(({ text }) => text).join('')))
    .join('\n');
}
