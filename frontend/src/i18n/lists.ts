import { currentLanguage, locale } from '.';
import { chineseSentences, space } from './spacing';

/** Format a list by the rules of the page's language. */
function formatList(items: readonly string[], type: Intl.ListFormatType): string {
  const parts = new Intl.ListFormat(locale(), { type }).formatToParts(items);
  const texts = parts.map(({ type: kind, value }, index) => {
    if (kind === 'element') return value;
    const before = space(parts[index - 1]?.value.slice(-1) ?? '', value.charAt(0));
    const after = space(value.slice(-1), parts[index + 1]?.value.charAt(0) ?? '');
    return `${before}${value}${after}`;
  });
  return texts.join('');
}

/** Join with "and": "a", "a and b", "a, b, and c". */
export const joinWithAnd = (items: readonly string[]): string => formatList(items, 'conjunction');

/** Join with "or": "a or b". */
export const joinWithOr = (items: readonly string[]): string => formatList(items, 'disjunction');

/** Join sentences: only some languages put a space between them. */
export const joinSentences = (each: readonly string[]): string =>
  currentLanguage() === 'zh' ? chineseSentences(each) : each.join(' ');

/** Join names and values with commas: "a, b, c". */
export const joinWithCommas = (items: readonly string[]): string =>
  items.join(currentLanguage() === 'zh' ? '、' : ', ');
