/** Reads the part of a log before the one shown. */
import { type LogSource, readLog, type Stream } from './source';

/** The portal's limit of one response. */
const PIECE_BYTES = 128 * 1024;

/** The replacement for an invalid UTF-8 byte; at the beginning of a piece, the rest of a character
 * that began before it. */
const BROKEN = '\ufffd';
const LONGEST_REST = 3;

/** Drop the rest of a character at the beginning; `dropped` is its length in bytes. */
export function wholeCharacters(text: string): { text: string; dropped: number } {
  let dropped = 0;
  while (dropped < LONGEST_REST && text[dropped] === BROKEN) dropped++;
  return { text: text.slice(dropped), dropped };
}

/** Read the text that ends at byte `end`; `offset` is the byte at which it begins. */
export async function earlierPiece(
  source: LogSource,
  stream: Stream,
  end: number,
): Promise<{ text: string; offset: number }> {
  const offset = Math.max(0, end - PIECE_BYTES);
  let text = '';
  // The portal may return less than requested.
  for (let position = offset; position < end; ) {
    const piece = await readLog(source, stream, position, end - position);
    if (piece.next_offset <= position) break;
    text += piece.text;
    position = piece.next_offset;
  }
  const complete = offset === 0 ? { text, dropped: 0 } : wholeCharacters(text);
  return { text: complete.text, offset: offset + complete.dropped };
}
