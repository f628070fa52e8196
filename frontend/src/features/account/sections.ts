/** The parts of one's account, in the order of its navigation. Pure. */

export const SECTIONS = [
  { slug: 'profile', label: 'Profile' },
  { slug: 'limits', label: 'Limits and use' },
  { slug: 'notifications', label: 'Notifications' },
  { slug: 'password', label: 'Password' },
  { slug: 'second-factor', label: 'Second factor' },
  { slug: 'tokens', label: 'Access tokens' },
  { slug: 'appearance', label: 'Appearance' },
] as const;

export type Section = (typeof SECTIONS)[number];

/** Which of them an address names; without a name the first, and none for a name that isn't one. */
export function sectionOf(slug: string | undefined): Section | undefined {
  return slug === undefined ? SECTIONS[0] : SECTIONS.find((section) => section.slug === slug);
}
