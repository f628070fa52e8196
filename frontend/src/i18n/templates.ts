/**
 * Finds sentences with gaps, such as "Please try again in {0} seconds.", in a text, and fills their
 * translations. Pure; independent of the languages and of the source of the sentences.
 */

import { space } from './spacing';

/** A sentence as its source has it → the same in another language; the gaps are {0}, {1} … in both.
 * The translation says of some what may stand there: {0:number}, and {0:term} for what the portal
 * itself puts there, which is translated also if it is a single word. */
export type Catalog = Readonly<Record<string, string>>;

interface Template {
  /** the fixed words before, between and after the gaps */
  words: readonly string[];
  gaps: readonly Gap[];
  /** of one word only: a number and its unit, a thing and its name */
  short: boolean;
  translation: string;
  /** how many of its characters are fixed: more is the closer match */
  fixed: number;
}

interface Gap {
  number: string;
  holds: Holds;
}

/** `own`: a user's own word between quotation marks, which is left as it is. */
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
  // odd places hold the gaps' numbers
  const parts = english.split(GAP);
  const words = parts.filter((_part, place) => place % 2 === 0);
  const kinds = new Map<string, Holds>();
  for (const [, number = '', kind] of translation.matchAll(KIND)) kinds.set(number, kind as Holds);
  const gaps = parts
    .filter((_part, place) => place % 2 === 1)
    .map((number, at): Gap => {
      const quoted = /[“"']$/.test(words[at] ?? '');
      return { number, holds: quoted ? 'own' : (kinds.get(number) ?? 'words') };
    });
  const fixed = words.join('').length;
  const short =
    words.filter((each) => each.trim() !== '').length === 1 && !/\S\s+\S/.test(words.join(''));
  return { words, gaps, short, translation, fixed };
}

/** What stands in the gaps, each as short as can be and none empty; null if the words aren't these.
 * By looking for one word after the other: a regular expression would try all ways to divide a long text. */
function inGaps(words: readonly string[], text: string): string[] | null {
  const [first = '', ...others] = words;
  const last = others.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last)) return null;
  const end = text.length - last.length;
  const found: string[] = [];
  let from = first.length;
  for (const word of others) {
    const at = text.indexOf(word, from + 1);
    if (at < 0) return null;
    found.push(text.slice(from, at));
    from = at + word.length;
  }
  if (from >= end) return null;
  return [...found, text.slice(from, end)];
}

/** Finds the sentence that a text is; of several that fit, first those with the most fixed words. */
export class Templates {
  private readonly whole = new Map<string, string>();
  /** by their first word; '' has those that begin with a gap */
  private readonly byWord = new Map<string, Template[]>();

  constructor(catalogue: Catalog) {
    for (const [english, translation] of Object.entries(catalogue)) {
      if (!GAP.test(english)) {
        this.whole.set(english, translation);
        continue;
      }
      const word = WORD.exec(english)?.[0] ?? '';
      const others = this.byWord.get(word);
      const made = template(english, translation);
      if (others) others.push(made);
      else this.byWord.set(word, [made]);
    }
    for (const some of this.byWord.values()) some.sort((a, b) => b.fixed - a.fixed);
  }

  /** What a text may be, the closest first. */
  *matches(text: string): Generator<Match> {
    const whole = this.whole.get(text);
    if (whole !== undefined) yield { translation: whole, pieces: new Map() };
    const word = WORD.exec(text)?.[0];
    for (const some of [word && this.byWord.get(word), this.byWord.get('')]) {
      for (const { words, gaps, short, translation } of some || []) {
        const found = inGaps(words, text);
        if (!found || (short && found.some((piece) => piece.includes(' ')))) continue;
        const pieces = gaps.map(({ number, holds }, at) => ({
          number,
          holds,
          text: found[at] ?? '',
        }));
        if (pieces.some(({ holds, text: each }) => holds === 'number' && !NUMBER.test(each)))
          continue;
        yield { translation, pieces: new Map(pieces.map((each) => [each.number, each])) };
      }
    }
  }
}

/** Puts the pieces into the gaps of a translation. */
export function filled(translation: string, piece: (number: string) => string): string {
  return translation.replace(
    /( ?)\{(\d+)(?::[a-z]+)?\}( ?)/g,
    (gap: string, left: string, number: string, right: string, at: number) => {
      const text = piece(number);
      const before = space(translation.charAt(at - 1), text.charAt(0), left);
      const after = space(text.slice(-1), translation.charAt(at + gap.length), right);
      return before + text + after;
    },
  );
}
