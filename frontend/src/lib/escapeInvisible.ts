/** Display of names that users chose, of files and jobs. Pure. */

/** First of the characters that stand for bytes of a name that is not UTF-8; see docs/files.md. */
const BYTE_FIRST = 0xef80;
const BYTE_LAST = 0xefff;

/** Return a name for display: bytes, line breaks and characters that change the text direction are
 * escaped. */
export function escapeInvisible(name: string): string {
  let text = '';
  for (const char of name) {
    const code = char.codePointAt(0) ?? 0;
    if (code >= BYTE_FIRST && code <= BYTE_LAST) text += `\\x${(code & 0xff).toString(16)}`;
    else if (char === '\n') text += '\\n';
    else if (char === '\t') text += '\\t';
    else if (isInvisible(code)) text += `\\u${code.toString(16).padStart(4, '0')}`;
    else text += char;
  }
  return text;
}

function isInvisible(code: number): boolean {
  const control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const changesDirection = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const zeroWidth = (code >= 0x200b && code <= 0x200f) || code === 0xfeff;
  return control || changesDirection || zeroWidth;
}
