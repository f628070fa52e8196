/** The languages of the pages, and their locales for numbers and dates. Pure. */

/** These are also the values in all users' preferences. */
export const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Each in its own language, so that readers of no other recognize it. */
export const NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '简体中文' };

/** BCP 47 tags for `<html lang>`, numbers and dates. */
const TAGS: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-CN' };

/** Return the `lang` attribute of a text. */
export const tagOf = (language: Language): string => TAGS[language];

export const isLanguage = (value: unknown): value is Language =>
  LANGUAGES.some((language) => language === value);

const spoken = (tag: string): string => tag.toLowerCase().split('-')[0] ?? '';

/** Return the language to use: the chosen one, else the first supported one of the browser's. */
export function languageOf(chosen: unknown, browser: readonly string[]): Language {
  if (isLanguage(chosen)) return chosen;
  return browser.map(spoken).find(isLanguage) ?? 'en';
}

/**
 * The script variants in which the pages are written: for screen readers and fonts, traditional
 * Chinese is another language.
 */
const KINDS: Readonly<Record<Language, RegExp>> = {
  en: /^en(-|$)/i,
  zh: /^zh(-(CN|SG|Hans(-.+)?))?$/i,
};

/** Return whether `Intl` accepts a tag: some systems report "en-US@posix". */
function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false; // a RangeError: not a valid tag
  }
}

/** Return whether the reader's own locale has a 24-hour clock. */
function has24Hours(browser: readonly string[]): boolean {
  const own = browser.find(isTag);
  if (own === undefined) return false;
  const { hourCycle } = new Intl.DateTimeFormat(own, { hour: 'numeric' }).resolvedOptions();
  return hourCycle === 'h23' || hourCycle === 'h24';
}

/** A clock, as the value of `hourCycle`. */
export const CLOCKS = ['h23', 'h12'] as const;
export type ClockFormat = (typeof CLOCKS)[number];

/** Return the locale of dates: that of the page, with the chosen clock, else with the 24-hour clock of
 * readers who have one. An English page in a German browser has English months and no "PM". */
export function dateLocaleOf(
  language: Language,
  browser: readonly string[],
  chosen: ClockFormat | null = null,
): string {
  const tag = localeOf(language, browser);
  const hourCycle = chosen ?? (has24Hours(browser) ? 'h23' : undefined);
  return hourCycle === undefined ? tag : new Intl.Locale(tag, { hourCycle }).toString();
}

/**
 * Return the locale of numbers, dates and markup: the browser's own variant of this language if it
 * has one ("en-GB"), so an English page has no German dates.
 */
export const localeOf = (language: Language, browser: readonly string[]): string =>
  browser.find((tag) => KINDS[language].test(tag) && isTag(tag)) ?? TAGS[language];
