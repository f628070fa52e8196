import { beforeAll, describe, expect, it } from 'vitest';
import chinese from '../../../portal/i18n/zh.json';
import examples from '../../../tests/data/translated.json';
import { type Catalog, setCatalog, translate } from './translate';

describe('the Chinese translation', () => {
  beforeAll(() => setCatalog(chinese));

  // the portal's translation of e-mails is tested with the same:
  // tests/unit/portal/i18n/test_translation.py
  it.each(Object.entries(examples))('translates %s', (english, translated) => {
    expect(translate(english)).toBe(translated);
  });

  it('matches each of its messages, and fills all placeholders', () => {
    for (const [english, translation] of Object.entries(chinese as Catalog)) {
      const put = (text: string): string =>
        text.replace(/\{(\d+)(?::[a-z]+)?\}/g, (_gap, number) =>
          translation.includes(`{${number}:number}`) ? `10${number}` : `xq${number}`,
        );
      const words = translate(put(english));
      // spacing is up to the translation
      expect(words.replaceAll(' ', ''), english).toBe(put(translation).replaceAll(' ', ''));
      for (const [, number] of english.matchAll(/\{(\d+)\}/g)) {
        expect(words, english).toContain(put(`{${number}}`));
      }
    }
  });

  it('does not translate texts too long for a message', () => {
    const text = 'It was cancelled. Start it again. '.repeat(1000);
    expect(translate(text)).toBe(text);
  });
});
