import { describe, expect, it } from 'vitest';
import { languageOf, localeOf } from './language';

describe('the language of a page', () => {
  it('is the one chosen, else the first of the browser’s that there is', () => {
    expect(languageOf('zh', ['en-GB'])).toBe('zh');
    expect(languageOf(null, ['de-CH', 'zh-CN', 'en'])).toBe('zh');
    expect(languageOf('fr', ['de'])).toBe('en');
    expect(languageOf(null, [])).toBe('en');
  });

  it('is Chinese for readers of another variant', () => {
    for (const tag of ['zh', 'zh-TW', 'zh-HK', 'zh-Hant-MO', 'zh-Hans-SG'])
      expect(languageOf(null, [tag, 'en']), tag).toBe('zh');
  });
});

describe('what its texts are marked as', () => {
  it('is the reader’s own kind of it', () => {
    expect(localeOf('en', ['de-CH', 'en-GB', 'en-US'])).toBe('en-GB');
    for (const tag of ['zh', 'zh-CN', 'zh-SG', 'zh-Hans', 'zh-Hans-HK'])
      expect(localeOf('zh', ['en', tag]), tag).toBe(tag);
  });

  it('is never Chinese in traditional characters, which the texts are not', () => {
    for (const tag of ['zh-TW', 'zh-HK', 'zh-MO', 'zh-Hant', 'zh-Hant-TW'])
      expect(localeOf('zh', [tag]), tag).toBe('zh-CN');
    expect(localeOf('zh', ['zh-TW', 'zh-SG'])).toBe('zh-SG');
  });

  it('is the plain one where the browser’s is none, or none that numbers are written by', () => {
    expect(localeOf('zh', ['de'])).toBe('zh-CN');
    expect(localeOf('en', ['en-US@posix'])).toBe('en');
    expect(localeOf('en', ['en-US@posix', 'en-AU'])).toBe('en-AU');
    expect(() => new Intl.NumberFormat(localeOf('en', ['en-']))).not.toThrow();
  });
});
