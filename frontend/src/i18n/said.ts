/**
 * What the portal's programs said, in the reader's language: refusals, reasons, the catalog's titles.
 * They say it in English, and some of it is stored or told to several people at once; so it is
 * translated here, where it is read (docs/decisions/0013). What has no translation stays English.
 */

import { chineseSentences, space } from './spacing';
import { type Catalogue, filled, type Match, type Piece, Templates } from './templates';

export type { Catalogue } from './templates';

const MAX_KEPT = 2000;
/** Ends of sentences: what is said of a sentence isn't looked for beyond its end. */
const BETWEEN = /(?<=[.!?…][”’)]?) (?=[A-Z“])/;
const MAX_SENTENCES = 12;
const CHINESE_STOP = /[。！？]$/;
/** What the portal puts between several pieces, and what stands there in Chinese. */
const LISTS = [
  [', ', '、'],
  [' and ', '和'],
  [' or ', '或'],
] as const;
const CLAUSES = ['; ', '；'] as const;
/** What is longer is no sentence: a log, a file. */
const MAX_LENGTH = 2000;
/** How deep pieces are looked for in pieces, and how often for one text, which may be anybody's. */
const MAX_DEPTH = 8;
const MAX_TRIES = 500;

type Reader = (text: string) => string | null;

function reader(catalogue: Catalogue): Reader {
  const templates = new Templates(catalogue);
  // of the text that is being read
  let depth = 0;
  let tries = 0;

  /** A captured piece may be a sentence of the catalogue itself, or somebody's own word. */
  const inGap = ({ text, holds }: Piece): string => {
    if (holds === 'own' || holds === 'number') return text;
    if (holds === 'words' && !text.includes(' ')) return text;
    if (depth === MAX_DEPTH) return text;
    depth += 1;
    const found = translated(text) ?? anyList(text, holds);
    depth -= 1;
    return found ?? text;
  };

  const put = ({ translation, pieces }: Match): string =>
    filled(translation, (number) => {
      const piece = pieces.get(number);
      return piece === undefined ? '' : inGap(piece);
    });

  /** `across`: its gaps may hold ends of sentences. */
  const exact = (text: string, across = false): string | null => {
    tries += 1;
    if (tries > MAX_TRIES) return null;
    for (const match of templates.matches(text)) {
      const within = [...match.pieces.values()].every(({ text: piece }) => !BETWEEN.test(piece));
      if (within || across) return put(match);
    }
    return null;
  };

  /** Several pieces of the catalogue; null if one of them is something else. */
  const severalOf = (
    text: string,
    [between, sign]: readonly [string, string],
    holds: Piece['holds'] = 'term',
  ): string | null => {
    if (!text.includes(between)) return null;
    const each = text
      .split(between)
      .map((piece) => (holds === 'term' || piece.includes(' ') ? exact(piece) : null));
    if (each.includes(null)) return null;
    return each
      .map((piece) => piece ?? '')
      .reduce((all, next) => {
        const before = space(all.slice(-1), sign);
        return all + before + sign + space(sign, next.charAt(0)) + next;
      });
  };

  const anyList = (text: string, holds: Piece['holds']): string | null =>
    LISTS.map((list) => severalOf(text, list, holds)).find((each) => each) ?? null;

  /** What the portal made a sentence of by a capital letter and a full stop. */
  const bare = (text: string): string | null => {
    if (!text.endsWith('.')) return null;
    const big = text.slice(0, -1);
    const small = big.charAt(0).toLowerCase() + big.slice(1);
    for (const each of [big, small]) {
      const found = severalOf(each, CLAUSES) ?? exact(each);
      if (found) return CHINESE_STOP.test(found) ? found : `${found}。`;
    }
    return null;
  };

  const asOne = (text: string): string | null =>
    severalOf(text, CLAUSES) ?? exact(text) ?? bare(text);

  /** Sentence by sentence, several of them as one where the catalogue has them as one. */
  const inTurn = (text: string): string | null => {
    const parts = text.split(BETWEEN);
    if (parts.length === 1 || parts.length > MAX_SENTENCES) return null;
    let found = false;
    const all: string[] = [];
    for (let from = 0; from < parts.length; ) {
      let to = parts.length;
      let next: string | null = null;
      for (; to > from; to -= 1) {
        next = asOne(parts.slice(from, to).join(' '));
        if (next !== null) break;
      }
      if (next === null) to = from + 1;
      else found = true;
      all.push(next ?? parts[from] ?? '');
      from = to;
    }
    return found ? chineseSentences(all) : null;
  };

  const translated = (text: string): string | null =>
    text.length > MAX_LENGTH ? null : (asOne(text) ?? inTurn(text) ?? exact(text, true));
  return (text) => {
    [depth, tries] = [0, 0];
    return translated(text);
  };
}

let read: Reader | null = null;
let whole: Catalogue = {};
let kept = new Map<string, string>();

/** Who reads Chinese has the catalogue (portal/said.zh.json) set here once; null is English. */
export function setSaid(catalogue: Catalogue | null): void {
  read = catalogue && reader(catalogue);
  whole = catalogue ?? {};
  kept = new Map();
}

/** A sentence of the portal's programs in the reader's language; in English the sentence itself. */
export function said(text: string): string;
export function said(text: string | null): string | null;
export function said(text: string | undefined): string | undefined;
export function said(text: string | null | undefined): string | null | undefined;
export function said(text: string | null | undefined): string | null | undefined {
  if (!text || read === null) return text;
  const known = kept.get(text);
  if (known !== undefined) return known;
  const words = read(text) ?? text;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, words);
  return words;
}

/** What a person may have written for others to read, as a title in the site's catalog or why a node
 * is out of service: in the reader's language if all of it is known as it stands, which is then the
 * portal's or Slurm's own. Anything else stays as it was written. */
export function written(text: string): string;
export function written(text: string | null): string | null;
export function written(text: string | undefined): string | undefined;
export function written(text: string | null | undefined): string | null | undefined;
export function written(text: string | null | undefined): string | null | undefined {
  return text && Object.hasOwn(whole, text) ? whole[text] : text;
}
