/**
 * What the portal's programs said, in the reader's language: refusals, reasons, the catalog's titles.
 * They say it in English, and some of it is stored or told to several people at once; so it is
 * translated here, where it is read (docs/decisions/0013). What has no translation stays English.
 */

import { type Catalogue, filled, type Match, Templates } from './templates';

export type { Catalogue } from './templates';

const MAX_KEPT = 2000;
/** Ends of sentences: what is said of a sentence isn't looked for beyond its end. */
const BETWEEN = /(?<=[.!?…][”’)]?) (?=[A-Z“])/;
const MAX_SENTENCES = 12;
const CHINESE_END = /[。！？：；，、”）]$/;

type Reader = (text: string) => string | null;

function reader(catalogue: Catalogue): Reader {
  const templates = new Templates(catalogue);

  /** A captured piece may be a sentence of the catalogue itself, or somebody's own word. */
  const words = (text: string): string => translated(text) ?? text;

  const put = ({ translation, pieces }: Match): string =>
    filled(translation, (number) => {
      const piece = pieces.get(number);
      if (piece === undefined) return '';
      return piece.quoted ? piece.text : words(piece.text);
    });

  const asOne = (text: string, across: boolean): string | null => {
    for (const match of templates.matches(text)) {
      const whole = [...match.pieces.values()].every(({ text: piece }) => !BETWEEN.test(piece));
      if (whole || across) return put(match);
    }
    return null;
  };

  /** Sentence by sentence, several of them as one where the catalogue has them as one. */
  const inTurn = (text: string): string | null => {
    const sentences = text.split(BETWEEN);
    if (sentences.length === 1 || sentences.length > MAX_SENTENCES) return null;
    let found = false;
    let all = '';
    for (let from = 0; from < sentences.length; ) {
      let to = sentences.length;
      let next: string | null = null;
      for (; to > from; to -= 1) {
        next = asOne(sentences.slice(from, to).join(' '), false);
        if (next !== null) break;
      }
      if (next === null) to = from + 1;
      else found = true;
      const said = next ?? sentences[from] ?? '';
      all += all === '' || CHINESE_END.test(all) ? said : ` ${said}`;
      from = to;
    }
    return found ? all : null;
  };

  const translated = (text: string): string | null =>
    asOne(text, false) ?? inTurn(text) ?? asOne(text, true);
  return translated;
}

let read: Reader | null = null;
let kept = new Map<string, string>();

/** Who reads Chinese has the catalogue (said.zh.json) set here once; null is English. */
export function setSaid(catalogue: Catalogue | null): void {
  read = catalogue && reader(catalogue);
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
