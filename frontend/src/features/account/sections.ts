/** The account's sections, in the order of their navigation. Pure. */
import { t } from '@lingui/core/macro';

export const SECTIONS = [
  { slug: 'profile', label: t`Profile` },
  { slug: 'limits', label: t`Limits and usage` },
  { slug: 'notifications', label: t`Notifications` },
  { slug: 'password', label: t`Password` },
  { slug: 'second-factor', label: t`Two-factor authentication` },
  { slug: 'logins', label: t`Logins` },
  { slug: 'tokens', label: t`Access tokens` },
  { slug: 'appearance', label: t`Appearance and language` },
] as const;

export type Section = (typeof SECTIONS)[number];

/** Return the section that an address names: the first without a name, undefined for an unknown
 * one. */
export function findSection(slug: string | undefined): Section | undefined {
  return slug === undefined ? SECTIONS[0] : SECTIONS.find((section) => section.slug === slug);
}
