/** Where to go after login. The parameter is anyone's to write, so only paths of our own origin count. */

const NODE_CONTENT = /^\/(user|hub|tensorboard|content)\//;

/** The path, if `next` leads to a page of this origin; else the home page. */
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

/** Pages served by nodes or the hub, and the way to them, need a full load; our own are routes of this application. */
export const needsFullLoad = (path: string): boolean => NODE_CONTENT.test(path);
