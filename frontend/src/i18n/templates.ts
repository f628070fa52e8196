/**
 * Matches texts with messages that have placeholders, such as "Try again in {0} seconds.", and
 * fills the placeholders of their translations. Pure; independent of the languages and of the
 * source of the messages.
 */

import { space } from './spacing';

/** Messages in the source language → their translations; placeholders are {0}, {1} … in both. A
 * translation may restrict a placeholder: {0:number}, or {0:term} for a text of the portal itself,
 * which is translated even if it is a single word. */
export type Catalog = Readonly<Record<string, string>>;

interface Template {
  /** the fixed text before, between and after the placeholders */
  fixedTexts: readonly string[];
  gaps: readonly Gap[];
  /** whether it has a single fixed word, such as a number and its unit */
  short: boolean;
  translation: string;
  /** the number of fixed characters: more is the closer match */
  fixed: number;
}

interface Gap {
  number: string;
  holds: Holds;
}

/** The kind of a placeholder; `own`: a user's own text in quotation marks, which is not translated. */
type Holds = 'words' | 'own' | 'number' | 'term';

export interface Piece {
  text: string;
  holds: Holds;
}

export interface Match {
  translation: string;
  pieces: ReadonlyMap<string, Piece>;
}

const GAP = /\{(\d+)\}/;
const KIND = /\{(\d+):(number|term)\}/g;
const NUMBER = /^\d[\d.,:]*$/;
const WORD = /^[^\s{}]+(?=\s)/;

function template(english: string, translation: string): Template {
  // odd indexes contain the placeholders' numbers
  const parts = english.split(GAP);
  const fixedTexts = parts.filter((_part, index) => index % 2 === 0);
  const kinds = new Map<string, Holds>();
  for (const [, number = '', kind] of translation.matchAll(KIND)) kinds.set(number, kind as Holds);
  const gaps = parts
    .filter((_part, index) => index % 2 === 1)
    .map((number, index): Gap => {
      const quoted = /[“"']$/.test(fixedTexts[index] ?? '');
      return { number, holds: quoted ? 'own' : (kinds.get(number) ?? 'words') };
    });
  const fixed = fixedTexts.join('').length;
  const short =
    fixedTexts.filter((each) => each.trim() !== '').length === 1 &&
    !/\S\s+\S/.test(fixedTexts.join(''));
  return { fixedTexts, gaps, short, translation, fixed };
}

/** Return the texts of the placeholders, each as short as possible and none empty; null if the
 * fixed text does not match. It searches for one fixed text after the other: a regular expression
 * would try all ways to divide a long text. */
function placeholderTexts(fixedTexts: readonly string[], text: string): string[] | null {
  const [first = '', ...rest] = fixedTexts;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last)) return null;
  const end = text.length - last.length;
  const texts: string[] = [];
  let from = first.length;
  for (const next of rest) {
    const position = text.indexOf(next, from + 1);
    if (position < 0) return null;
    texts.push(text.slice(from, position));
    from = position + next.length;
  }
  if (from >= end) return null;
  return [...texts, text.slice(from, end)];
}

/** Finds the messages that match a text, those with the most fixed text first. */
export class Templates {
  private readonly exactMessages = new Map<string, string>();
  /** by their first word; '' has those that begin with a placeholder */
  private readonly byWord = new Map<string, Template[]>();

  constructor(translations: Catalog) {
    for (const [english, translation] of Object.entries(translations)) {
      if (!GAP.test(english)) {
        this.exactMessages.set(english, translation);
        continue;
      }
      const word = WORD.exec(english)?.[0] ?? '';
      const samePrefix = this.byWord.get(word);
      const entry = template(english, translation);
      if (samePrefix) samePrefix.push(entry);
      else this.byWord.set(word, [entry]);
    }
    for (const candidates of this.byWord.values()) candidates.sort((a, b) => b.fixed - a.fixed);
  }

  /** Yield the messages that match a text, the closest first. */
  *matches(text: string): Generator<Match> {
    const exact = this.exactMessages.get(text);
    if (exact !== undefined) yield { translation: exact, pieces: new Map() };
    const word = WORD.exec(text)?.[0];
    for (const candidates of [word && this.byWord.get(word), this.byWord.get('')]) {
      for (const { fixedTexts, gaps, short, translation } of candidates || []) {
        const texts = placeholderTexts(fixedTexts, text);
        if (!texts || (short && texts.some((piece) => piece.includes(' ')))) continue;
        const pieces = gaps.map(({ number, holds }, index) => ({
          number,
          holds,
          text: texts[index] ?? '',
        }));
        if (pieces.some(({ holds, text: each }) => holds === 'number' && !NUMBER.test(each)))
          continue;
        yield { translation, pieces: new Map(pieces.map((each) => [each.number, each])) };
      }
    }
  }
}

/** Fill the placeholders of a translation. */
export function fillPlaceholders(translation: string, piece: (number: string) => string): string {
  return translation.replace(
    /( ?)\{(\d+)(?::[a-z]+)?\}( ?)/g,
    (gap: string, left: string, number: string, right: string, index: number) => {
      const text = piece(number);
      const before = space(translation.charAt(index - 1), text.charAt(0), left);
      const after = space(text.slice(-1), translation.charAt(index + gap.length), right);
      return before + text + after;
    },
  );
}
