import { isRedirect } from '@tanstack/react-router';
import { expect, it, vi } from 'vitest';

// the routes import the layout, which looks for the browser's means on import
vi.stubGlobal('window', globalThis);
const { formerPages } = await import('./former');

interface Redirecting {
  path?: string;
  beforeLoad?: (given: object) => void;
}

/** Return the target of the redirect from a former address. */
function targetOf(path: string, given: object): unknown {
  const pages: Redirecting[] = formerPages.map(({ options }) => options as Redirecting);
  try {
    pages.find((page) => page.path === path)?.beforeLoad?.(given);
  } catch (error) {
    if (isRedirect(error)) return error.options;
  }
  return undefined;
}

it.each([
  ['/admin/people', { search: { q: 'ada' } }, '/admin/users'],
  ['/admin/people/$username', { params: { username: 'ada' } }, '/admin/users/$username'],
  ['/admin/new/person', {}, '/admin/new/user'],
  ['/admin/new/people', { search: { import: 'i1' } }, '/admin/new/users'],
])('leads from %s to the present address', (path, given, to) => {
  expect(targetOf(path, given)).toMatchObject({ to, ...given, replace: true });
});
