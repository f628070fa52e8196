/** The words of docs/glossary.md, built in, as who reads the page has them. Only ever imported when
 * somebody asks. */
import { currentLanguage, locale } from '@/i18n';
import { type Entry, parseGlossary, translated } from './parse';

const { default: english } = await import('../../../../docs/glossary.md?raw');

const words = parseGlossary(english);

async function inChinese(): Promise<Entry[]> {
  const { default: chinese } = await import('../../../../docs/glossary.zh.md?raw');
  const entries = translated(words, parseGlossary(chinese));
  return entries.sort((a, b) => a.word.localeCompare(b.word, locale()));
}

export const GLOSSARY = currentLanguage() === 'zh' ? await inChinese() : words;
