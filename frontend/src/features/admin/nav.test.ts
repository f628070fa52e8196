import { describe, expect, it } from 'vitest';
import { ADMIN_PARTS, placeOf } from './nav';

describe("where one is among the administrators' pages", () => {
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
    expect(placeOf(path)?.label).toBe(label);
  });

  it('has each page once', () => {
    const all = ADMIN_PARTS.flatMap((part) => part.places.map((place) => place.to));
    expect(new Set(all).size).toBe(all.length);
  });
});
