import { currentLanguage, locale } from '.';

/** "a", "a and b", "a, b, and c": as the page's language joins them. */
export const together = (items: readonly string[]): string =>
  new Intl.ListFormat(locale(), { type: 'conjunction' }).format(items);

/** "a or b". */
export const either = (items: readonly string[]): string =>
  new Intl.ListFormat(locale(), { type: 'disjunction' }).format(items);

/** Sentences one after the other: only some languages put a space between them. */
export const sentences = (each: readonly string[]): string =>
  each.join(currentLanguage() === 'zh' ? '' : ' ');

/** Names and values one after the other, none of them the last: "a, b, c". */
export const listed = (items: readonly string[]): string =>
  items.join(currentLanguage() === 'zh' ? '、' : ', ');
