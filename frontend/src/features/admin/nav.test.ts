import { describe, expect, it } from 'vitest';
import { ADMIN_GROUPS, currentEntry } from './nav';

describe("the current entry of the administrators' pages", () => {
  it.each([
    ['/admin', 'Sessions'],
    ['/admin/', 'Sessions'],
    ['/admin/users', 'Users'],
    ['/admin/users/alice', 'Users'],
    ['/admin/new/user', 'Users'],
    ['/admin/groups/a%2Fb', 'Groups'],
    ['/admin/limits', 'Limits'],
    ['/admin/limitsandmore', undefined],
    ['/jobs', undefined],
  ])('%s: %s', (path, label) => {
    expect(currentEntry(path)?.label).toBe(label);
  });

  it('has each page once', () => {
    const all = ADMIN_GROUPS.flatMap((part) => part.entries.map((entry) => entry.to));
    expect(new Set(all).size).toBe(all.length);
  });
});
