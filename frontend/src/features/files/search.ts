/** What the address of the files page says; whatever is missing has its usual value. */
export type Sort = 'name' | 'size' | 'modified';

export interface FilesSearch {
  root?: string;
  path?: string;
  sort?: 'size' | 'modified';
  desc?: true;
  hidden?: true;
  /** part of a name */
  q?: string;
  /** the name of the entry that is looked at */
  show?: string;
  trash?: true;
}

/** The router reads "2024" in an address as a number. */
function textAt(search: Record<string, unknown>, key: string): string | undefined {
  const value = search[key];
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function readFilesSearch(search: Record<string, unknown>): FilesSearch {
  const found: FilesSearch = {};
  for (const key of ['root', 'path', 'q', 'show'] as const) {
    const text = textAt(search, key);
    if (text !== undefined) found[key] = text;
  }
  if (search.sort === 'size' || search.sort === 'modified') found.sort = search.sort;
  if (search.desc === true) found.desc = true;
  if (search.hidden === true) found.hidden = true;
  if (search.trash === true) found.trash = true;
  return found;
}

/** Another folder keeps how things are shown, and nothing of what was looked for in this one. */
export function goTo(now: FilesSearch, root: string, path: string): FilesSearch {
  return {
    root,
    ...(path === '' ? {} : { path }),
    ...(now.sort ? { sort: now.sort } : {}),
    ...(now.desc ? { desc: now.desc } : {}),
    ...(now.hidden ? { hidden: now.hidden } : {}),
  };
}

/** Where Files shows this folder of the cluster; null: below none of the roots. */
export function searchForFolder(
  roots: readonly { name: string; path: string }[],
  folder: string,
): FilesSearch | null {
  const root = roots
    .filter(({ path }) => folder === path || folder.startsWith(`${path.replace(/\/$/, '')}/`))
    .sort((a, b) => b.path.length - a.path.length)[0];
  return root === undefined
    ? null
    : goTo({}, root.name, folder.slice(root.path.length).replace(/^\/|\/$/g, ''));
}

/** The same folder by another column; the same column again turns it round. */
export function sortBy(now: FilesSearch, column: Sort): FilesSearch {
  const { sort, desc, ...rest } = now;
  const same = (sort ?? 'name') === column;
  return {
    ...rest,
    ...(column === 'name' ? {} : { sort: column }),
    ...(same && !desc ? { desc: true } : {}),
  };
}

/** The same place with one thing shown, or none. */
export function showing(now: FilesSearch, name: string | null): FilesSearch {
  const { show, ...rest } = now;
  return name === null ? rest : { ...rest, show: name };
}

/** For links here: the router marks as current only what leads to just this address. */
export const EXACT = { exact: true, includeSearch: true } as const;
