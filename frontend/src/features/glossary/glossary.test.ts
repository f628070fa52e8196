import { describe, expect, it } from 'vitest';
import { GLOSSARY } from './glossary';
import { anchorOf, explanation, found, parseGlossary } from './parse';

const PAGES = import.meta.glob<string>('../../**/*.tsx', {
  query: '?raw',
  import: 'default',
  eager: true,
});

describe('the glossary', () => {
  it('is read as it is written', () => {
    const text =
      '# Words\n\nHow it is written.\n\n## Array\n\nAlso: Task, Tasks\n\nMany runs\nof one.\n\n## CPU\n\nA core.\n';
    expect(parseGlossary(text)).toEqual([
      { word: 'Array', also: ['Task', 'Tasks'], text: 'Many runs of one.' },
      { word: 'CPU', also: [], text: 'A core.' },
    ]);
  });

  it('explains every word once, in order, without markup', () => {
    expect(GLOSSARY.length).toBeGreaterThan(30);
    const words = GLOSSARY.map(({ word }) => word);
    expect(words).toEqual([...words].sort((a, b) => a.localeCompare(b, 'en')));
    const all = GLOSSARY.flatMap(({ word, also }) => [word, ...also]).map((w) => w.toLowerCase());
    expect(new Set(all).size).toBe(all.length);
    for (const { word, text } of GLOSSARY) {
      expect(text.length, word).toBeGreaterThan(30);
      expect(text, word).not.toMatch(/[`*[\]<>#]/);
    }
  });

  it('finds words in any case, and by what stands for them', () => {
    expect(explanation(GLOSSARY, 'gpus')?.word).toBe('GPU');
    expect(explanation(GLOSSARY, 'nonsense')).toBeUndefined();
    expect(found(GLOSSARY, ' QOS ').map(({ word }) => word)).toEqual(['QOS']);
    expect(found(GLOSSARY, '')).toHaveLength(GLOSSARY.length);
    expect(anchorOf('In-band address')).toBe('in-band-address');
  });

  it('knows every word that a page asks it for', () => {
    const asked = Object.entries(PAGES).flatMap(([file, source]) =>
      [...source.matchAll(/<Term(?: word="([^"]+)")?>\s*([^<{]*)/g)].map((match) => ({
        file,
        word: match[1] ?? match[2]?.trim() ?? '',
      })),
    );
    // what a page only knows when it runs is asked for by MaybeTerm, which can do without
    for (const { file, word } of asked.filter((each) => each.word !== ''))
      expect(explanation(GLOSSARY, word), `${file}: ${word}`).toBeDefined();
  });
});
