import { describe, expect, it } from 'vitest';
import { isBare } from '@/features/directory/groups';
import { filterMembers, groupEffects, memberCountText } from './labels';
import type { GroupMember } from './types';

const PLAIN = { member_count: 0, makes_admins: false, lets_in: false, description: null };

describe('a group', () => {
  it('lists what membership grants', () => {
    expect(groupEffects(PLAIN)).toBe('');
    expect(groupEffects({ ...PLAIN, makes_admins: true, description: 'Those on call' })).toBe(
      'Its members administer the portal. Those on call',
    );
    expect(memberCountText(1)).toBe('1 member');
    expect(memberCountText(null)).toBe('–');
  });

  it("is left out of the list when it is only a user's private group", () => {
    expect(isBare(PLAIN)).toBe(true);
    expect(isBare({ ...PLAIN, lets_in: true })).toBe(false);
    expect(isBare({ ...PLAIN, member_count: null })).toBe(false);
    expect(isBare({ ...PLAIN, description: 'Winter term' })).toBe(false);
  });

  it('filters members by all words, in any order', () => {
    const member = (username: string, display_name: string | null): GroupMember => ({
      username,
      display_name,
      inherited: false,
      role: 'user',
      disabled: false,
    });
    const members = [member('ada', 'Ada Lovelace'), member('bob', null)];
    const names = (text: string) => filterMembers(members, text).map(({ username }) => username);
    expect(names('')).toEqual(['ada', 'bob']);
    expect(names(' LOVE ad')).toEqual(['ada']);
    expect(names('bo')).toEqual(['bob']);
    expect(names('no-such-member')).toEqual([]);
  });
});
