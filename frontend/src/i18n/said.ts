/**
 * What the portal's programs said, in the reader's language: refusals, reasons, the catalog's titles.
 * They say it in English, and some of it is stored or told to several people at once; so it is
 * translated here, where it is read (docs/decisions/0013). What has no translation stays English.
 */

import { Reader } from './reader';
import type { Catalogue } from './templates';

export type { Catalogue } from './templates';

/** How many texts are kept with their translations: pages say the same again and again. */
const MAX_KEPT = 2000;

let reader: Reader | null = null;
let whole: Catalogue = {};
let kept = new Map<string, string>();

/** Who reads Chinese has the catalogue (portal/said.zh.json) set here once; null is English. */
export function setSaid(catalogue: Catalogue | null): void {
  reader = catalogue && new Reader(catalogue);
  whole = catalogue ?? {};
  kept = new Map();
}

/** A sentence of the portal's programs in the reader's language; in English the sentence itself. */
export function said(text: string): string;
export function said(text: string | null): string | null;
export function said(text: string | undefined): string | undefined;
export function said(text: string | null | undefined): string | null | undefined;
export function said(text: string | null | undefined): string | null | undefined {
  if (!text || reader === null) return text;
  const known = kept.get(text);
  if (known !== undefined) return known;
  const words = reader.said(text) ?? text;
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
