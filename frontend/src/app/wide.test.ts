import { describe, expect, it } from 'vitest';
import { isWide } from './wide';

describe('the width of a page', () => {
  it('is that of the screen for tables, logs and charts', () => {
    for (const path of ['/jobs', '/jobs/42', '/jobs/42/log', '/cluster', '/admin/audit', '/files'])
      expect(isWide(path), path).toBe(true);
  });

  it('is limited for forms and text', () => {
    for (const path of ['/', '/jobs/new', '/jobs/new/script', '/start', '/account', '/filesystem'])
      expect(isWide(path), path).toBe(false);
  });
});
