/** The folder in which the palette searches for files. Pure. */
import { readFilesSearch } from '@/features/files/search';

interface Location {
  pathname: string;
  search: unknown;
}

/** Return the folder that the Files page shows; empty on other pages. */
export function shownFolder({ pathname, search }: Location): { root?: string; path?: string } {
  if (pathname !== '/files') return {};
  const { root, path } = readFilesSearch(search as Record<string, unknown>);
  return { ...(root === undefined ? {} : { root }), ...(path === undefined ? {} : { path }) };
}
