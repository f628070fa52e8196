import { describe, expect, it } from 'vitest';
import { dateLocaleOf, languageOf, localeOf } from './language';

describe('the language of a page', () => {
  it("is the chosen one, else the browser's first supported one", () => {
    expect(languageOf('zh', ['en-GB'])).toBe('zh');
    expect(languageOf(null, ['de-CH', 'zh-CN', 'en'])).toBe('zh');
    expect(languageOf('fr', ['de'])).toBe('en');
    expect(languageOf(null, [])).toBe('en');
  });

  it('is Chinese for other variants of Chinese', () => {
    for (const tag of ['zh', 'zh-TW', 'zh-HK', 'zh-Hant-MO', 'zh-Hans-SG'])
      expect(languageOf(null, [tag, 'en']), tag).toBe('zh');
  });
});

describe('the locale of dates', () => {
  const evening = (browser: string[]): string =>
    new Date(2026, 10, 26, 21, 5).toLocaleTimeString(dateLocaleOf('en', browser), {
      hour: '2-digit',
      minute: '2-digit',
    });

  it("has the clock of the reader's region in an English page", () => {
    expect(evening(['de-DE', 'de', 'en-US', 'en'])).toBe('21:05');
    expect(evening(['zh-CN'])).toBe('21:05');
    expect(evening(['en-GB'])).toBe('21:05');
    expect(evening(['en-US', 'de'])).toMatch(/^09:05\sPM$/);
    expect(evening([])).toMatch(/^09:05\sPM$/);
    expect(evening(['en-US@posix', 'fr'])).toBe('21:05');
  });

  it('has the chosen clock', () => {
    const time = (clock: 'h23' | 'h12', browser: readonly string[]) =>
      new Date(2026, 10, 26, 21, 5).toLocaleTimeString(dateLocaleOf('en', browser, clock), {
        hour: '2-digit',
        minute: '2-digit',
      });
    expect(time('h23', ['en-US'])).toBe('21:05');
    expect(time('h12', ['de-DE', 'en-US'])).toMatch(/^09:05\sPM$/);
  });

  it('has the months of the language', () => {
    const date = new Date(2026, 10, 26).toLocaleDateString(dateLocaleOf('en', ['de-DE', 'en-US']), {
      month: 'short',
    });
    expect(date).toBe('Nov');
  });
});

describe('the locale of texts', () => {
  it("is the reader's own variant", () => {
    expect(localeOf('en', ['de-CH', 'en-GB', 'en-US'])).toBe('en-GB');
    for (const tag of ['zh', 'zh-CN', 'zh-SG', 'zh-Hans', 'zh-Hans-HK'])
      expect(localeOf('zh', ['en', tag]), tag).toBe(tag);
  });

  it('is never traditional Chinese', () => {
    for (const tag of ['zh-TW', 'zh-HK', 'zh-MO', 'zh-Hant', 'zh-Hant-TW'])
      expect(localeOf('zh', [tag]), tag).toBe('zh-CN');
    expect(localeOf('zh', ['zh-TW', 'zh-SG'])).toBe('zh-SG');
  });

  it("is the plain tag if the browser's is absent or invalid", () => {
    expect(localeOf('zh', ['de'])).toBe('zh-CN');
    expect(localeOf('en', ['en-US@posix'])).toBe('en');
    expect(localeOf('en', ['en-US@posix', 'en-AU'])).toBe('en-AU');
    expect(() => new Intl.NumberFormat(localeOf('en', ['en-']))).not.toThrow();
  });
});
