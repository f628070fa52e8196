/** The target after a login. The parameter may be written by anyone, so only paths of our own
 * origin are accepted. */

const OUTSIDE_APP = /^\/(user|hub|tensorboard|content)\//;

/** Return the path if `next` is a page of this origin; else the home page. */
export function safeNext(next: unknown, origin: string): string {
  if (typeof next !== 'string' || !next.startsWith('/')) return '/';
  // Browsers drop tabs and newlines inside URLs and read "\" as "/", so "/\t/evil" is "//evil".
  if (next.startsWith('//') || [...next].some((c) => c <= ' ' || c === '\\')) return '/';
  let url: URL;
  try {
    url = new URL(next, origin);
  } catch {
    return '/';
  }
  if (url.origin !== origin || url.pathname.startsWith('//')) return '/';
  if (url.pathname === '/login' || url.pathname.startsWith('/api/')) return '/';
  return url.pathname + url.search + url.hash;
}

/** Return whether the path needs a full load: notebooks, TensorBoards, the hub and /content, which
 * opens pages on the content host, are not routes of this application. */
export const needsFullLoad = (path: string): boolean => OUTSIDE_APP.test(path);
