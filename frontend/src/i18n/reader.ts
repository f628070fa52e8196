/**
 * Translates texts with one catalog: matches a text with its sentences, and fills the placeholders
 * of their translations. Pure. The portal's translations of e-mails follow the same rules
 * (portal/i18n/translation.py); both are tested with tests/data/translated.json.
 */
import { chineseSentences, space } from './spacing';
import { type Catalog, fillPlaceholders, type Match, type Piece, Templates } from './templates';

/** Sentence ends: a match does not extend beyond them. */
const BETWEEN = /(?<=[.!?…][”')]?) (?=[A-Z“])/;
const MAX_SENTENCES = 12;
const CHINESE_STOP = /[。！？]$/;

/** A separator that the portal puts between pieces, and its Chinese counterpart. */
type Between = readonly [english: string, chinese: string];
const LISTS: readonly Between[] = [
  [', ', '、'],
  [' and ', '和'],
  [' or ', '或'],
];
const CLAUSES: Between = ['; ', '；'];

/** A longer text is not a message, but a log or a file. */
const MAX_LENGTH = 2000;
/** The maximum depth of nested pieces, and of attempts per text, which may come from any user. */
const MAX_DEPTH = 8;
const MAX_TRIES = 500;

/** Return the first result that is not null. */
function firstResult<T>(items: readonly T[], each: (item: T) => string | null): string | null {
  for (const item of items) {
    const result = each(item);
    if (result !== null) return result;
  }
  return null;
}

export class Reader {
  private readonly templates: Templates;

  constructor(translations: Catalog) {
    this.templates = new Templates(translations);
  }

  /** Return the translation, or null if there is none. */
  translate(text: string): string | null {
    return new Reading(this.templates).translated(text);
  }
}

/** The translation of one text. */
class Reading {
  private depth = 0;
  private tries = 0;

  constructor(private readonly templates: Templates) {}

  translated(text: string): string | null {
    if (text.length > MAX_LENGTH) return null;
    return this.joinedSentence(text) ?? this.bySentence(text) ?? this.translateExactly(text, true);
  }

  private joinedSentence(text: string): string | null {
    return this.byPiece(text, CLAUSES) ?? this.translateExactly(text) ?? this.withoutFullStop(text);
  }

  /** Return the closest match; `across`: its placeholders may contain sentence ends. */
  private translateExactly(text: string, across = false): string | null {
    this.tries += 1;
    if (this.tries > MAX_TRIES) return null;
    for (const match of this.templates.matches(text)) {
      const within = [...match.pieces.values()].every(({ text: piece }) => !BETWEEN.test(piece));
      if (within || across) return this.put(match);
    }
    return null;
  }

  private put({ translation, pieces }: Match): string {
    return fillPlaceholders(translation, (number) => {
      const piece = pieces.get(number);
      return piece === undefined ? '' : this.translatePiece(piece);
    });
  }

  /** Translate a placeholder's text, which may be a sentence of the catalog, or a user's own text. */
  private translatePiece({ text, holds }: Piece): string {
    if (holds === 'own' || holds === 'number') return text;
    if (holds === 'words' && !text.includes(' ')) return text;
    if (this.depth === MAX_DEPTH) return text;
    this.depth += 1;
    const translation =
      this.translated(text) ?? firstResult(LISTS, (between) => this.byPiece(text, between, holds));
    this.depth -= 1;
    return translation ?? text;
  }

  /** Translate several pieces; null if one of them has no translation. */
  private byPiece(
    text: string,
    [between, sign]: Between,
    holds: Piece['holds'] = 'term',
  ): string | null {
    if (!text.includes(between)) return null;
    const translations: string[] = [];
    for (const piece of text.split(between)) {
      const translation =
        holds === 'term' || piece.includes(' ') ? this.translateExactly(piece) : null;
      if (translation === null) return null;
      translations.push(translation);
    }
    return translations.reduce((all, next) => {
      const before = space(all.slice(-1), sign);
      return all + before + sign + space(sign, next.charAt(0)) + next;
    });
  }

  /** Translate a text that the portal turned into a sentence with a capital letter and a full stop. */
  private withoutFullStop(text: string): string | null {
    if (!text.endsWith('.')) return null;
    const big = text.slice(0, -1);
    const small = big.charAt(0).toLowerCase() + big.slice(1);
    const translation = firstResult(
      [big, small],
      (each) => this.byPiece(each, CLAUSES) ?? this.translateExactly(each),
    );
    return translation === null || CHINESE_STOP.test(translation)
      ? translation
      : `${translation}。`;
  }

  /** Translate sentence by sentence, but several as one if the catalog has them as one. */
  private bySentence(text: string): string | null {
    const parts = text.split(BETWEEN);
    if (parts.length === 1 || parts.length > MAX_SENTENCES) return null;
    let anyTranslated = false;
    const all: string[] = [];
    for (let from = 0; from < parts.length; ) {
      let to = parts.length;
      let next: string | null = null;
      for (; to > from; to -= 1) {
        next = this.joinedSentence(parts.slice(from, to).join(' '));
        if (next !== null) break;
      }
      if (next === null) to = from + 1;
      else anyTranslated = true;
      all.push(next ?? parts[from] ?? '');
      from = to;
    }
    return anyTranslated ? chineseSentences(all) : null;
  }
}
