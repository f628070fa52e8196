/** Paths relative to a root ("a/b.txt"; "" is the root itself), and file names. */
import { t } from '@lingui/core/macro';

export const join = (folder: string, name: string): string =>
  folder === '' ? name : `${folder}/${name}`;

export const fileNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Return the parent folder; the root's is the root. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Return the absolute path on the cluster of a path in a root. */
export const onCluster = (root: { path: string }, path: string): string =>
  `${root.path.replace(/\/$/, '')}/${path}`;

/** Return each folder of a path, the outermost first, without the root. */
export function steps(path: string): { name: string; path: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  return names.map((name, index) => ({ name, path: names.slice(0, index + 1).join('/') }));
}

/** Return whether `path` is `folder` or lies in it. */
export const isWithin = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);

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
