/** The address of the files page; absent parameters have their defaults. */
export type Sort = 'name' | 'size' | 'modified';

export interface FilesSearch {
  root?: string;
  path?: string;
  sort?: 'size' | 'modified';
  desc?: true;
  hidden?: true;
  /** part of a name */
  q?: string;
  /** the name of the entry in the preview */
  show?: string;
  trash?: true;
}

/** Return a parameter's text. The router parses "2024" in an address as a number. */
function textAt(search: Record<string, unknown>, key: string): string | undefined {
  const value = search[key];
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function readFilesSearch(search: Record<string, unknown>): FilesSearch {
  const result: FilesSearch = {};
  for (const key of ['root', 'path', 'q', 'show'] as const) {
    const text = textAt(search, key);
    if (text !== undefined) result[key] = text;
  }
  if (search.sort === 'size' || search.sort === 'modified') result.sort = search.sort;
  if (search.desc === true) result.desc = true;
  if (search.hidden === true) result.hidden = true;
  if (search.trash === true) result.trash = true;
  return result;
}

/** Go to another folder: keep the display options, drop the search and the preview. */
export function goTo(now: FilesSearch, root: string, path: string): FilesSearch {
  return {
    root,
    ...(path === '' ? {} : { path }),
    ...(now.sort ? { sort: now.sort } : {}),
    ...(now.desc ? { desc: now.desc } : {}),
    ...(now.hidden ? { hidden: now.hidden } : {}),
  };
}

/** Return the address of a path on the cluster in Files; null: it is below none of the roots. */
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

/** Return the address of a file on the cluster in Files, with its preview; null as above. */
export function searchForFile(
  roots: readonly { name: string; path: string }[],
  path: string,
): (FilesSearch & { root: string; show: string }) | null {
  const cut = path.lastIndexOf('/');
  const search = searchForFolder(roots, path.slice(0, cut));
  return search?.root === undefined
    ? null
    : { ...search, root: search.root, show: path.slice(cut + 1) };
}

/** Sort by a column; the same column again reverses the order. */
export function sortBy(now: FilesSearch, column: Sort): FilesSearch {
  const { sort, desc, ...rest } = now;
  const same = (sort ?? 'name') === column;
  return {
    ...rest,
    ...(column === 'name' ? {} : { sort: column }),
    ...(same && !desc ? { desc: true } : {}),
  };
}

/** Return the address with one entry in the preview, or none. */
export function withPreview(now: FilesSearch, name: string | null): FilesSearch {
  const { show, ...rest } = now;
  return name === null ? rest : { ...rest, show: name };
}

/** Options of links: the router otherwise also marks links to parent folders as current. */
export const EXACT = { exact: true, includeSearch: true } as const;
