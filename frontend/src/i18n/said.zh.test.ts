import { beforeAll, describe, expect, it } from 'vitest';
import chinese from '../../../portal/said.zh.json';
import examples from '../../../tests/data/said.json';
import { type Catalogue, said, setSaid } from './said';

describe('the Chinese catalogue', () => {
  beforeAll(() => setSaid(chinese));

  // the portal's own reader, of e-mails, is held to the same: tests/unit/test_said.py
  it.each(Object.entries(examples))('says %s', (english, translated) => {
    expect(said(english)).toBe(translated);
  });

  it('finds every sentence that it has, and puts all pieces in', () => {
    for (const english of Object.keys(chinese as Catalogue)) {
      const pieces = [...english.matchAll(/\{(\d+)\}/g)].map(([, number]) => `xq${number}`);
      const example = english.replace(/\{(\d+)\}/g, 'xq$1');
      const words = said(example);
      const own = (chinese as Catalogue)[english]?.replace(/\{(\d+)\}/g, 'xq$1');
      // a space more or less is said's own matter
      expect(words.replaceAll(' ', ''), english).toBe(own?.replaceAll(' ', ''));
      for (const piece of pieces) expect(words, english).toContain(piece);
    }
  });

  it('leaves what is too long to be a sentence', () => {
    const text = 'It was cancelled. Start it again. '.repeat(1000);
    expect(said(text)).toBe(text);
  });
});
