/**
 * Translates the server's messages: refusals, reasons, the catalog's titles. They are stored and
 * sent in English, some to several users at once, so they are translated where they are read
 * (docs/decisions/0013). A message without a translation stays English.
 */

import { Reader } from './reader';
import type { Catalog } from './templates';

export type { Catalog } from './templates';

/** How many texts are kept with their translations: pages say the same again and again. */
const MAX_CACHED = 2000;

let reader: Reader | null = null;
let catalog: Catalog = {};
let cache = new Map<string, string>();

/** Who reads Chinese has the catalogue (portal/i18n/zh.json) set here once; null is English. */
export function setCatalog(messages: Catalog | null): void {
  reader = messages && new Reader(messages);
  catalog = messages ?? {};
  cache = new Map();
}

/** A sentence of the portal's programs in the reader's language; in English the sentence itself. */
export function translate(text: string): string;
export function translate(text: string | null): string | null;
export function translate(text: string | undefined): string | undefined;
export function translate(text: string | null | undefined): string | null | undefined;
export function translate(text: string | null | undefined): string | null | undefined {
  if (!text || reader === null) return text;
  const cached = cache.get(text);
  if (cached !== undefined) return cached;
  const translation = reader.translate(text) ?? text;
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(text, translation);
  return translation;
}

/** What a user may have written for others to read, as a title in the site's catalog or why a node
 * is out of service: in the reader's language if all of it is known as it stands, which is then the
 * portal's or Slurm's own. Anything else stays as it was written. */
export function translateExact(text: string): string;
export function translateExact(text: string | null): string | null;
export function translateExact(text: string | undefined): string | undefined;
export function translateExact(text: string | null | undefined): string | null | undefined;
export function translateExact(text: string | null | undefined): string | null | undefined {
  return text && Object.hasOwn(catalog, text) ? catalog[text] : text;
}
