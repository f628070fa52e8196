/** Which templates are shown, and in what order. Pure. */
import type { Template } from '@/api/types';
import { locale } from '@/i18n';
import { translateExact } from '@/i18n/translate';

/** What one begins with before what one seldom needs; in between, everything else. */
const FIRST = ['example', 'training'];
const LAST = 'benchmark';

function place({ available, tags }: Template): number {
  const found = FIRST.findIndex((tag) => tags.includes(tag));
  const kind = tags.includes(LAST) ? FIRST.length + 1 : found < 0 ? FIRST.length : found;
  return (available ? 0 : 10) + kind;
}

/** Every word must be found somewhere; what can be used comes first. */
export function findTemplates(all: readonly Template[], text: string): Template[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const about = ({ name, title, description, framework, tags }: Template): string =>
    // Who reads it in Chinese may still type the English words.
    [
      name,
      title,
      translateExact(title),
      description,
      translateExact(description),
      framework ?? '',
      ...tags,
    ]
      .join(' ')
      .toLowerCase();
  const byTitle = (a: Template, b: Template): number =>
    translateExact(a.title).localeCompare(translateExact(b.title), locale());
  return all
    .filter((template) => words.every((word) => about(template).includes(word)))
    .sort((a, b) => place(a) - place(b) || byTitle(a, b));
}
