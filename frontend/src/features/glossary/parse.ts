/** docs/glossary.md as words and their explanations. Pure. */

export interface Entry {
  /** as the end of an address: the same in every language */
  anchor: string;
  word: string;
  /** other words that mean it */
  also: readonly string[];
  text: string;
}

const ALSO = 'Also: ';

function entryOf(section: string): Entry {
  const [word = '', ...paragraphs] = section.split(/\n(?:\s*\n)*/).map((line) => line.trim());
  const also = paragraphs.find((line) => line.startsWith(ALSO));
  const text = paragraphs.filter((line) => line !== '' && line !== also).join(' ');
  return { anchor: anchorOf(word), word, also: also?.slice(ALSO.length).split(', ') ?? [], text };
}

/** In the file's order. */
export function parseGlossary(markdown: string): Entry[] {
  const [, ...sections] = markdown.split(/^## /m);
  return sections.map(entryOf);
}

/** The same words in another language, one by one. The English ones still find them: they are what the
 * pages ask for, and what the rest of the world says. */
export const translated = (entries: readonly Entry[], other: readonly Entry[]): Entry[] =>
  entries.map((entry, at) => {
    const { word, also, text } = other[at] ?? entry;
    const all = [...also, entry.word, ...entry.also].filter((each) => each !== word);
    return { anchor: entry.anchor, word, also: [...new Set(all)], text };
  });

const plain = (word: string): string => word.toLowerCase();

/** The entry that explains a word, in whatever case it is written. */
export function explanation(entries: readonly Entry[], word: string): Entry | undefined {
  const wanted = plain(word);
  return entries.find((entry) =>
    [entry.word, ...entry.also].some((each) => plain(each) === wanted),
  );
}

/** An English word as the end of an address. */
export const anchorOf = (word: string): string => plain(word).replace(/[^a-z0-9]+/g, '-');

/** Those in whose words or explanation the text stands. */
export function found(entries: readonly Entry[], text: string): Entry[] {
  const wanted = plain(text.trim());
  return entries.filter(({ word, also, text: explained }) =>
    [word, ...also, explained].some((each) => plain(each).includes(wanted)),
  );
}
