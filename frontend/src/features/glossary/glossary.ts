/** The words of docs/glossary.md, built in, as who reads the page has them. Fetched when somebody asks,
 * and asked for anew after a failure: so no module waits for them while it is read. */
import { queryOptions } from '@tanstack/react-query';
import { currentLanguage, locale } from '@/i18n';
import { type Entry, parseGlossary, translated } from './parse';

async function inChinese(words: readonly Entry[]): Promise<Entry[]> {
  const { default: chinese } = await import('../../../../docs/glossary.zh.md?raw');
  const entries = translated(words, parseGlossary(chinese));
  return entries.sort((a, b) => a.word.localeCompare(b.word, locale()));
}

export async function glossary(): Promise<Entry[]> {
  const { default: english } = await import('../../../../docs/glossary.md?raw');
  const words = parseGlossary(english);
  return currentLanguage() === 'zh' ? inChinese(words) : words;
}

export const glossaryQuery = queryOptions({
  queryKey: ['glossary'],
  queryFn: glossary,
  staleTime: Number.POSITIVE_INFINITY,
});
