/** Paths below a root ("a/b.txt", "" is the root itself) and the names in them. */
import { t } from '@lingui/core/macro';

/** A byte of a name that is no UTF-8 comes as one of these characters; see docs/files.md. */
const BYTE_FIRST = 0xef80;
const BYTE_LAST = 0xefff;
const MOST_NAME_BYTES = 255;

export const join = (folder: string, name: string): string =>
  folder === '' ? name : `${folder}/${name}`;

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** The folder something is in; of the root, the root. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Each folder on the way, the outermost first; the root isn't among them. */
export function steps(path: string): { name: string; path: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  return names.map((name, at) => ({ name, path: names.slice(0, at + 1).join('/') }));
}

/** Whether `path` is `folder` or lies in it. */
export const isWithin = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);

/** A name as it can be read: what has no shape of its own (bytes, line breaks, characters that turn
 * the direction of writing) is written out. */
export function readable(name: string): string {
  let text = '';
  for (const sign of name) {
    const code = sign.codePointAt(0) ?? 0;
    if (code >= BYTE_FIRST && code <= BYTE_LAST) text += `\\x${(code & 0xff).toString(16)}`;
    else if (sign === '\n') text += '\\n';
    else if (sign === '\t') text += '\\t';
    else if (isShapeless(code)) text += `\\u${code.toString(16).padStart(4, '0')}`;
    else text += sign;
  }
  return text;
}

function isShapeless(code: number): boolean {
  const control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const invisible = (code >= 0x200b && code <= 0x200f) || code === 0xfeff;
  return control || turns || invisible;
}

/** How long a name is on the disk. */
export function nameBytes(name: string): number {
  let bytes = 0;
  for (const sign of name) {
    const code = sign.codePointAt(0) ?? 0;
    bytes += code >= BYTE_FIRST && code <= BYTE_LAST ? 1 : new TextEncoder().encode(sign).length;
  }
  return bytes;
}

/** Why this can't be a name, or null if it can. */
export function nameProblem(name: string): string | null {
  if (name.trim() === '') return t`Give it a name.`;
  if (name === '.' || name === '..') return t`“${name}” is not a valid name; choose another.`;
  if (name.includes('/')) return t`A name can’t contain “/”.`;
  if (name.includes('\0')) return t`A name can’t contain that character.`;
  const bytes = nameBytes(name);
  if (bytes > MOST_NAME_BYTES)
    return t`This name is too long: ${bytes} bytes. The limit is ${{ most: MOST_NAME_BYTES }}.`;
  return null;
}

/** How much of a name to select for renaming: all but its ending. */
export function stemLength(name: string): number {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? dot : name.length;
}
