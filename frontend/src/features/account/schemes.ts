/** Labels of the color schemes. */
import { t } from '@lingui/core/macro';

export const SCHEMES = [
  { value: 'light', label: t`Light`, description: t`Dark text on a light page.` },
  { value: 'dark', label: t`Dark`, description: t`Light text on a dark page.` },
  {
    value: 'auto',
    label: t`Same as system`,
    description: t`What your computer or phone is set to.`,
  },
] as const;
