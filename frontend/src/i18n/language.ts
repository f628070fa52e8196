/** Which language the pages speak, and the numbers and dates that go with it. Pure. */

/** Also their names in the preferences of all users. */
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

/**
 * The variants of a language in which the pages are written: traditional Chinese counts as another
 * language for screen readers and fonts.
 */
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

/**
 * The locale of numbers and dates, and of the page's markup: the browser's own variant of this
 * language if it names one ("en-GB"), so an English page has no German dates.
 */
export const localeOf = (language: Language, browser: readonly string[]): string =>
  browser.find((tag) => KINDS[language].test(tag) && isTag(tag)) ?? TAGS[language];
