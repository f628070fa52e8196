import { describe, expect, it } from 'vitest';
import chineseMarkdown from '../../../../docs/glossary.zh.md?raw';
import { glossary } from './glossary';
import { anchorOf, findEntry, parseGlossary, searchEntries, translateEntries } from './parse';

const GLOSSARY = await glossary();
const PAGES = import.meta.glob<string>('../../**/*.tsx', {
  query: '?raw',
  import: 'default',
  eager: true,
});

describe('the glossary', () => {
  it('is parsed', () => {
    const text =
      '# Words\n\nHow it is written.\n\n## Array\n\nAlso: Task, Tasks\n\nMany runs\nof one.\n\n## CPU\n\nA core.\n';
    expect(parseGlossary(text)).toEqual([
      { anchor: 'array', word: 'Array', also: ['Task', 'Tasks'], text: 'Many runs of one.' },
      { anchor: 'cpu', word: 'CPU', also: [], text: 'A core.' },
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

  it('has every term in Chinese', () => {
    const chinese = parseGlossary(chineseMarkdown);
    const names = (words: readonly { word: string }[]) => words.map(({ word }) => word);
    expect(chinese).toHaveLength(GLOSSARY.length);
    expect(new Set(names(chinese)).size).toBe(chinese.length);
    // names that are not translated are at the same positions in both languages
    const untranslated = names(chinese).map((word) => (/[一-鿿]/.test(word) ? null : word));
    for (const [index, word] of untranslated.entries())
      if (word !== null) expect(word).toBe(GLOSSARY[index]?.word);
    for (const { word, text } of chinese) {
      expect(text, word).toMatch(/^[^`*[\]<>#]*[一-鿿][^`*[\]<>#]*。$/);
      expect(text, word).not.toMatch(/[一-鿿] [一-鿿]/);
    }
  });

  it('is searched in English and displayed in Chinese', () => {
    const entries = translateEntries(GLOSSARY, parseGlossary(chineseMarkdown));
    const node = findEntry(entries, 'Nodes');
    expect(node).toMatchObject({ anchor: 'node', word: '节点', also: ['Node', 'Nodes'] });
    expect(findEntry(entries, '节点')).toBe(node);
    expect(findEntry(entries, 'GPU')?.also).not.toContain('GPU');
  });

  it('finds terms in any case, and by synonyms', () => {
    expect(findEntry(GLOSSARY, 'gpus')?.word).toBe('GPU');
    expect(findEntry(GLOSSARY, 'nonsense')).toBeUndefined();
    expect(searchEntries(GLOSSARY, ' QOS ').map(({ word }) => word)).toEqual(['QOS']);
    expect(searchEntries(GLOSSARY, '')).toHaveLength(GLOSSARY.length);
    expect(anchorOf('In-band address')).toBe('in-band-address');
  });

  it('has every term that a page uses', () => {
    const usedWords = Object.entries(PAGES).flatMap(([file, source]) =>
      [...source.matchAll(/<Term\s+word="([^"]+)"/g)].map(([, word = '']) => ({ file, word })),
    );
    expect(usedWords.length).toBeGreaterThan(10);
    // a MaybeTerm's word is only known at run time, and may be missing
    for (const { file, word } of usedWords)
      expect(findEntry(GLOSSARY, word), `${file}: ${word}`).toBeDefined();
  });
});
