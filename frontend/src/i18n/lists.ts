import { currentLanguage, locale } from '.';

const LATIN_END = /[\w)]$/;
const LATIN_BEGIN = /^[\w(]/;

/** As the page's language joins them; Chinese has a space between its own and Latin letters. */
function joined(items: readonly string[], type: Intl.ListFormatType): string {
  const parts = new Intl.ListFormat(locale(), { type }).formatToParts(items);
  const texts = parts.map((part, at) => {
    if (part.type === 'element' || !/^\p{Script=Han}$/u.test(part.value)) return part.value;
    const before = LATIN_END.test(parts[at - 1]?.value ?? '') ? ' ' : '';
    const after = LATIN_BEGIN.test(parts[at + 1]?.value ?? '') ? ' ' : '';
    return `${before}${part.value}${after}`;
  });
  return texts.join('');
}

/** "a", "a and b", "a, b, and c". */
export const together = (items: readonly string[]): string => joined(items, 'conjunction');

/** "a or b". */
export const either = (items: readonly string[]): string => joined(items, 'disjunction');

/** Sentences one after the other: only some languages put a space between them. */
export const sentences = (each: readonly string[]): string =>
  each.join(currentLanguage() === 'zh' ? '' : ' ');

/** Names and values one after the other, none of them the last: "a, b, c". */
export const listed = (items: readonly string[]): string =>
  items.join(currentLanguage() === 'zh' ? '、' : ', ');
