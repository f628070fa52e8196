/** The parts of one's account, in the order of its navigation. Pure. */
import { t } from '@lingui/core/macro';

export const SECTIONS = [
  { slug: 'profile', label: t`Profile` },
  { slug: 'limits', label: t`Limits and usage` },
  { slug: 'notifications', label: t`Notifications` },
  { slug: 'password', label: t`Password` },
  { slug: 'second-factor', label: t`Second factor` },
  { slug: 'logins', label: t`Logins` },
  { slug: 'tokens', label: t`Access tokens` },
  { slug: 'appearance', label: t`Appearance and language` },
] as const;

export type Section = (typeof SECTIONS)[number];

/** Which of them an address names; without a name the first, and none for a name that isn't one. */
export function sectionOf(slug: string | undefined): Section | undefined {
  return slug === undefined ? SECTIONS[0] : SECTIONS.find((section) => section.slug === slug);
}
