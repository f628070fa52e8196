/**
 * Translates the server's messages: errors, reasons, the catalog's titles. They are stored and
 * sent in English, some to several users at once, so they are translated where they are read
 * (docs/decisions/0013). A message without a translation stays English.
 */

import { Reader } from './reader';
import type { Catalog } from './templates';

export type { Catalog } from './templates';

/** The maximum number of cached translations: pages show the same messages again and again. */
const MAX_CACHED = 2000;

let reader: Reader | null = null;
let catalog: Catalog = {};
let cache = new Map<string, string>();

/** Set the Chinese catalog (portal/i18n/zh.json); null is English. */
export function setCatalog(messages: Catalog | null): void {
  reader = messages && new Reader(messages);
  catalog = messages ?? {};
  cache = new Map();
}

/** Translate a message of the portal's programs; in English return it unchanged. */
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

/** Translate a text that may be user-defined, such as a title in the site's catalog or the reason
 * why a node is out of service, if all of it is a known text of the portal or Slurm. Any other is
 * returned unchanged. */
export function translateExact(text: string): string;
export function translateExact(text: string | null): string | null;
export function translateExact(text: string | undefined): string | undefined;
export function translateExact(text: string | null | undefined): string | null | undefined;
export function translateExact(text: string | null | undefined): string | null | undefined {
  return text && Object.hasOwn(catalog, text) ? catalog[text] : text;
}
