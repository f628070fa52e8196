/** Light or dark, in words. */
export const SCHEMES = [
  { value: 'light', label: 'Light', description: 'Dark text on a light page.' },
  { value: 'dark', label: 'Dark', description: 'Light text on a dark page.' },
  { value: 'auto', label: 'As the system', description: 'What your computer or phone is set to.' },
] as const;
