/** What a log has before what is shown of it. */
import { type LogSource, readLog, type Stream } from './source';

/** What the portal sends at most at once. */
const PIECE_BYTES = 128 * 1024;

/** What stands for a byte that is no UTF-8; at the very beginning of a piece it is the rest of a
 * character that began before. */
const BROKEN = '\ufffd';
const LONGEST_REST = 3;

/** Text without the rest of a character at its beginning, and how many bytes that was. */
export function wholeCharacters(text: string): { text: string; dropped: number } {
  let dropped = 0;
  while (dropped < LONGEST_REST && text[dropped] === BROKEN) dropped++;
  return { text: text.slice(dropped), dropped };
}

/** The text that ends at byte `end`, and the byte at which it begins. */
export async function earlierPiece(
  source: LogSource,
  stream: Stream,
  end: number,
): Promise<{ text: string; offset: number }> {
  const offset = Math.max(0, end - PIECE_BYTES);
  let text = '';
  // The portal may send less at once than was asked for.
  for (let at = offset; at < end; ) {
    const piece = await readLog(source, stream, at, end - at);
    if (piece.next_offset <= at) break;
    text += piece.text;
    at = piece.next_offset;
  }
  const whole = offset === 0 ? { text, dropped: 0 } : wholeCharacters(text);
  return { text: whole.text, offset: offset + whole.dropped };
}
