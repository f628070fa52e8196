/** Labels of groups. Pure. */
import { plural, t } from '@lingui/core/macro';
import { joinSentences } from '@/i18n/lists';
import type { GroupMember, GroupRow } from './types';

export const memberCountText = (n: number | null): string =>
  n === null ? '–' : plural(n, { one: '# member', other: '# members' });

/** Return the effects of membership, and the directory's description. */
export function groupEffects(
  group: Pick<GroupRow, 'makes_admins' | 'lets_in' | 'description'>,
): string {
  return joinSentences([
    ...(group.makes_admins ? [t`Its members administer the portal.`] : []),
    ...(group.lets_in ? [t`Its members may use the portal.`] : []),
    ...(group.description ? [group.description] : []),
  ]);
}

/** Return the members whose names contain every typed word. */
export function filterMembers(members: readonly GroupMember[], text: string): GroupMember[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return members.filter(({ username, display_name }) => {
    const names = `${username} ${display_name ?? ''}`.toLowerCase();
    return words.every((word) => names.includes(word));
  });
}
