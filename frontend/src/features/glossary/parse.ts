/** Parser of docs/glossary.md: terms and their definitions. Pure. */

export interface Entry {
  /** the fragment of the address: the same in every language */
  anchor: string;
  word: string;
  /** synonyms */
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

/** Parse the entries, in the file's order. */
export function parseGlossary(markdown: string): Entry[] {
  const [, ...sections] = markdown.split(/^## /m);
  return sections.map(entryOf);
}

/** Return the entries in another language. English terms still find them, as the pages' code and
 * other documents use those. */
export const translateEntries = (entries: readonly Entry[], other: readonly Entry[]): Entry[] =>
  entries.map((entry, index) => {
    const { word, also, text } = other[index] ?? entry;
    const all = [...also, entry.word, ...entry.also].filter((each) => each !== word);
    return { anchor: entry.anchor, word, also: [...new Set(all)], text };
  });

const normalize = (word: string): string => word.toLowerCase();

/** Return the entry of a term, ignoring case. */
export function findEntry(entries: readonly Entry[], word: string): Entry | undefined {
  const query = normalize(word);
  return entries.find((entry) =>
    [entry.word, ...entry.also].some((each) => normalize(each) === query),
  );
}

/** Convert an English term to a fragment of an address. */
export const anchorOf = (word: string): string => normalize(word).replace(/[^a-z0-9]+/g, '-');

/** Return the entries whose terms or definition contain the text. */
export function searchEntries(entries: readonly Entry[], text: string): Entry[] {
  const query = normalize(text.trim());
  return entries.filter(({ word, also, text: explained }) =>
    [word, ...also, explained].some((each) => normalize(each).includes(query)),
  );
}
