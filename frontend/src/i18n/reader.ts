/**
 * Translates texts by one catalog: finds the sentences of a text, and fills the gaps of their
 * translations. Pure. The portal's own reader follows the same rules
 * (portal/i18n/translation.py), and both are held to the same examples (tests/data/translated.json).
 */
import { chineseSentences, space } from './spacing';
import { type Catalog, filled, type Match, type Piece, Templates } from './templates';

/** Ends of sentences: a match does not extend beyond them. */
const BETWEEN = /(?<=[.!?…][”’)]?) (?=[A-Z“])/;
const MAX_SENTENCES = 12;
const CHINESE_STOP = /[。！？]$/;

/** What the portal puts between several pieces, and what stands there in Chinese. */
type Between = readonly [english: string, chinese: string];
const LISTS: readonly Between[] = [
  [', ', '、'],
  [' and ', '和'],
  [' or ', '或'],
];
const CLAUSES: Between = ['; ', '；'];

/** A longer text is no sentence, but a log or a file. */
const MAX_LENGTH = 2000;
/** The maximum depth of nested pieces, and of attempts per text, which may come from any user. */
const MAX_DEPTH = 8;
const MAX_TRIES = 500;

/** What the first of them gives that gives anything; null if none does. */
function firstResult<T>(items: readonly T[], each: (one: T) => string | null): string | null {
  for (const one of items) {
    const found = each(one);
    if (found !== null) return found;
  }
  return null;
}

export class Reader {
  private readonly templates: Templates;

  constructor(catalogue: Catalog) {
    this.templates = new Templates(catalogue);
  }

  /** Return the translation, or null if there is none. */
  translate(text: string): string | null {
    return new Reading(this.templates).translated(text);
  }
}

/** One text being read. */
class Reading {
  private depth = 0;
  private tries = 0;

  constructor(private readonly templates: Templates) {}

  translated(text: string): string | null {
    if (text.length > MAX_LENGTH) return null;
    return this.asOne(text) ?? this.inTurn(text) ?? this.exact(text, true);
  }

  private asOne(text: string): string | null {
    return this.listed(text, CLAUSES) ?? this.exact(text) ?? this.bare(text);
  }

  /** The closest sentence that fits; `across`: its gaps may hold ends of sentences. */
  private exact(text: string, across = false): string | null {
    this.tries += 1;
    if (this.tries > MAX_TRIES) return null;
    for (const match of this.templates.matches(text)) {
      const within = [...match.pieces.values()].every(({ text: piece }) => !BETWEEN.test(piece));
      if (within || across) return this.put(match);
    }
    return null;
  }

  private put({ translation, pieces }: Match): string {
    return filled(translation, (number) => {
      const piece = pieces.get(number);
      return piece === undefined ? '' : this.inGap(piece);
    });
  }

  /** A piece may be a sentence of the catalog, or a user's own word. */
  private inGap({ text, holds }: Piece): string {
    if (holds === 'own' || holds === 'number') return text;
    if (holds === 'words' && !text.includes(' ')) return text;
    if (this.depth === MAX_DEPTH) return text;
    this.depth += 1;
    const found =
      this.translated(text) ?? firstResult(LISTS, (between) => this.listed(text, between, holds));
    this.depth -= 1;
    return found ?? text;
  }

  /** Several pieces of the catalogue; null if one of them is something else. */
  private listed(
    text: string,
    [between, sign]: Between,
    holds: Piece['holds'] = 'term',
  ): string | null {
    if (!text.includes(between)) return null;
    const known: string[] = [];
    for (const piece of text.split(between)) {
      const found = holds === 'term' || piece.includes(' ') ? this.exact(piece) : null;
      if (found === null) return null;
      known.push(found);
    }
    return known.reduce((all, next) => {
      const before = space(all.slice(-1), sign);
      return all + before + sign + space(sign, next.charAt(0)) + next;
    });
  }

  /** What the portal made a sentence of by a capital letter and a full stop. */
  private bare(text: string): string | null {
    if (!text.endsWith('.')) return null;
    const big = text.slice(0, -1);
    const small = big.charAt(0).toLowerCase() + big.slice(1);
    const found = firstResult(
      [big, small],
      (each) => this.listed(each, CLAUSES) ?? this.exact(each),
    );
    return found === null || CHINESE_STOP.test(found) ? found : `${found}。`;
  }

  /** Sentence by sentence, several of them as one where the catalogue has them as one. */
  private inTurn(text: string): string | null {
    const parts = text.split(BETWEEN);
    if (parts.length === 1 || parts.length > MAX_SENTENCES) return null;
    let found = false;
    const all: string[] = [];
    for (let from = 0; from < parts.length; ) {
      let to = parts.length;
      let next: string | null = null;
      for (; to > from; to -= 1) {
        next = this.asOne(parts.slice(from, to).join(' '));
        if (next !== null) break;
      }
      if (next === null) to = from + 1;
      else found = true;
      all.push(next ?? parts[from] ?? '');
      from = to;
    }
    return found ? chineseSentences(all) : null;
  }
}
