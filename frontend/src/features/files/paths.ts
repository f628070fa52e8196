/** Paths relative to a root ("a/b.txt"; "" is the root itself), and file names. */
import { t } from '@lingui/core/macro';

/** First of the characters that stand for bytes of a name that is not UTF-8; see docs/files.md. */
const BYTE_FIRST = 0xef80;
const BYTE_LAST = 0xefff;

export const join = (folder: string, name: string): string =>
  folder === '' ? name : `${folder}/${name}`;

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Return the parent folder; the root's is the root. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Return the absolute path on the cluster of a path in a root. */
export const onCluster = (root: { path: string }, path: string): string =>
  `${root.path.replace(/\/$/, '')}/${path}`;

/** Return each folder of a path, the outermost first, without the root. */
export function steps(path: string): { name: string; path: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  return names.map((name, at) => ({ name, path: names.slice(0, at + 1).join('/') }));
}

/** Return whether `path` is `folder` or lies in it. */
export const isWithin = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);

/** Return a name for display: bytes, line breaks and characters that change the text direction are
 * escaped. */
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

/** Return why this can't be sent as one name of a path, or null if it can. */
export function nameProblem(name: string): string | null {
  if (name.trim() === '') return t`Give it a name.`;
  if (name === '.' || name === '..') return t`“${name}” is not a valid name; choose another.`;
  if (name.includes('/')) return t`A name can't contain “/”.`;
  if (name.includes('\0')) return t`A name can't contain that character.`;
  return null;
}

/** Return how many characters to select for renaming: all but the extension. */
export function stemLength(name: string): number {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? dot : name.length;
}
