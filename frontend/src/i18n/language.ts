/** Which language the pages speak, and the numbers and dates that go with it. Pure. */

/** Also the names that the portal knows them by, in everybody's preferences. */
export const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Each in its own words: who looks for theirs may read no other. */
export const NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '简体中文' };

/** What `<html lang>`, numbers and dates take (BCP 47). */
const TAGS: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-CN' };

/** How a text in it is marked. */
export const tagOf = (language: Language): string => TAGS[language];

export const isLanguage = (value: unknown): value is Language =>
  LANGUAGES.some((language) => language === value);

const spoken = (tag: string): string => tag.toLowerCase().split('-')[0] ?? '';

/** The language to speak: the one chosen, else the first of the browser's that there is. */
export function languageOf(chosen: unknown, browser: readonly string[]): Language {
  if (isLanguage(chosen)) return chosen;
  return browser.map(spoken).find(isLanguage) ?? 'en';
}

/** The kinds of a language that the pages' own texts are: Chinese in traditional characters is another
 * one to whoever reads it aloud or picks its font. */
const KINDS: Readonly<Record<Language, RegExp>> = {
  en: /^en(-|$)/i,
  zh: /^zh(-(CN|SG|Hans(-.+)?))?$/i,
};

/** Whether numbers and dates can be written by it: some systems call it "en-US@posix". */
function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false; // a RangeError, which is the answer
  }
}

/** How numbers and dates are written, and what the texts are marked as: the reader's own kind of this
 * language if the browser tells one ("en-GB"), so that an English page has no German dates. */
export const localeOf = (language: Language, browser: readonly string[]): string =>
  browser.find((tag) => KINDS[language].test(tag) && isTag(tag)) ?? TAGS[language];
