import { describe, expect, it } from 'vitest';
import chineseMarkdown from '../../../../docs/glossary.zh.md?raw';
import { glossary } from './glossary';
import { anchorOf, explanation, found, parseGlossary, translated } from './parse';

const GLOSSARY = await glossary();
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
    // names that no language translates stand at the same places, so nothing is out of step
    const untranslated = names(chinese).map((word) => (/[一-鿿]/.test(word) ? null : word));
    for (const [at, word] of untranslated.entries())
      if (word !== null) expect(word).toBe(GLOSSARY[at]?.word);
    for (const { word, text } of chinese) {
      expect(text, word).toMatch(/^[^`*[\]<>#]*[一-鿿][^`*[\]<>#]*。$/);
      expect(text, word).not.toMatch(/[一-鿿] [一-鿿]/);
    }
  });

  it('is requested in English and answers in Chinese', () => {
    const entries = translated(GLOSSARY, parseGlossary(chineseMarkdown));
    const node = explanation(entries, 'Nodes');
    expect(node).toMatchObject({ anchor: 'node', word: '节点', also: ['Node', 'Nodes'] });
    expect(explanation(entries, '节点')).toBe(node);
    expect(explanation(entries, 'GPU')?.also).not.toContain('GPU');
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
      [...source.matchAll(/<Term\s+word="([^"]+)"/g)].map(([, word = '']) => ({ file, word })),
    );
    expect(asked.length).toBeGreaterThan(10);
    // what a page only knows when it runs is asked for by MaybeTerm, which can do without
    for (const { file, word } of asked)
      expect(explanation(GLOSSARY, word), `${file}: ${word}`).toBeDefined();
  });
});
