import { describe, expect, it } from 'vitest';
import { names, withRole } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';

/** Every request is refused, but that for the own account. */
const failing = new Proxy<Record<string, unknown>>(
  {},
  { get: (_, path) => (path === '/me' ? undefined : new ErrorAnswer(403, 'Not now.')) },
);

const PAGES = [
  '/account',
  '/account/appearance',
  '/account/limits',
  '/account/logins',
  '/account/notifications',
  '/account/second-factor',
  '/account/tokens',
  '/admin/announcements',
  '/admin/audit',
  '/admin/catalog',
  '/admin/groups',
  '/admin/groups/vision',
  '/admin/images',
  '/admin/limits',
  '/admin/new/user',
  '/admin/status',
  '/admin/users/alice',
  '/benchmarks',
  '/groups/vision',
  '/jobs/new',
  '/jobs/new?template=python-training',
  '/jobs/new?own=true',
  '/jobs/new?from=job-1',
  '/shared',
  '/start',
];

describe('a page that could not be fetched', () => {
  it.each(PAGES)('offers to try again: %s', async (address) => {
    const markup = await page(address, { answers: failing });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
    expect(names(markup, 'button')).toContain('Try again');
  });
});
