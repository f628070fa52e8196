/**
 * Sentences with gaps: "Please try again in {0} seconds." found again in what somebody said, and
 * said in other words. Pure; knows neither the languages nor where the sentences come from.
 */

/** A sentence as its source has it → the same in another language; the gaps are {0}, {1} … in both. */
export type Catalogue = Readonly<Record<string, string>>;

interface Template {
  pattern: RegExp;
  /** whose gap each group of the pattern is */
  gaps: readonly Gap[];
  translation: string;
  /** how many of its characters are fixed: who has more is the closer match */
  fixed: number;
}

interface Gap {
  number: string;
  /** what stands between quotation marks is somebody's own word, and is left as it is */
  quoted: boolean;
}

export interface Match {
  translation: string;
  pieces: ReadonlyMap<string, { text: string; quoted: boolean }>;
}

const GAP = /\{(\d+)\}/;
const WORD = /^[^\s{}]+(?=\s)/;

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function template(english: string, translation: string): Template {
  // odd places hold the gaps' numbers
  const parts = english.split(GAP);
  const gaps: Gap[] = [];
  let pattern = '';
  let fixed = 0;
  parts.forEach((part, place) => {
    if (place % 2 === 0) {
      pattern += escaped(part);
      fixed += part.length;
      return;
    }
    gaps.push({ number: part, quoted: /[“"']$/.test(parts[place - 1] ?? '') });
    pattern += '(.+?)';
  });
  return { pattern: new RegExp(`^${pattern}$`, 's'), gaps, translation, fixed };
}

/** Finds the sentence that a text is; of several that fit, first those with the most fixed words. */
export class Templates {
  private readonly whole = new Map<string, string>();
  /** by their first word; '' has those that begin with a gap */
  private readonly byWord = new Map<string, Template[]>();

  constructor(catalogue: Catalogue) {
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
      for (const { pattern, gaps, translation } of some || []) {
        const found = pattern.exec(text);
        if (!found) continue;
        const pieces = gaps.map(
          ({ number, quoted }, at) => [number, { text: found[at + 1] ?? '', quoted }] as const,
        );
        yield { translation, pieces: new Map(pieces) };
      }
    }
  }
}

/** Puts the pieces into the gaps of a translation. */
export function filled(translation: string, piece: (number: string) => string): string {
  return translation.replace(/\{(\d+)\}/g, (_gap, number: string) => piece(number));
}
