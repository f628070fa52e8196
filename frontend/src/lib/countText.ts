import { locale } from '@/i18n';

/** Format a number in the reader's locale: "12,500". */
export const countText = (count: number): string => count.toLocaleString(locale());
