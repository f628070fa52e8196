/**
 * The entries of docs/glossary.md in the page's language. Fetched on demand and again after a
 * failure, so no module waits for them while it loads.
 */
import { queryOptions } from '@tanstack/react-query';
import { currentLanguage, locale } from '@/i18n';
import { type Entry, parseGlossary, translateEntries } from './parse';

async function inChinese(english: readonly Entry[]): Promise<Entry[]> {
  const { default: chinese } = await import('../../../../docs/glossary.zh.md?raw');
  const entries = translateEntries(english, parseGlossary(chinese));
  return entries.sort((a, b) => a.word.localeCompare(b.word, locale()));
}

export async function glossary(): Promise<Entry[]> {
  const { default: english } = await import('../../../../docs/glossary.md?raw');
  const entries = parseGlossary(english);
  return currentLanguage() === 'zh' ? inChinese(entries) : entries;
}

export const glossaryQuery = queryOptions({
  queryKey: ['glossary'],
  queryFn: glossary,
  staleTime: Number.POSITIVE_INFINITY,
});
