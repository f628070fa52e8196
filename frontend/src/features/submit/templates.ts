/** Search, order and categories of templates. Pure. */
import { t } from '@lingui/core/macro';
import type { Template } from '@/api/types';
import { locale } from '@/i18n';
import { translateExact } from '@/i18n/translate';

/** Tags of the templates that are listed first and last; the others are in between. */
const FIRST = ['example', 'training'];
const LAST = 'benchmark';

function rank({ available, tags }: Template): number {
  const first = FIRST.findIndex((tag) => tags.includes(tag));
  const byTag = tags.includes(LAST) ? FIRST.length + 1 : first < 0 ? FIRST.length : first;
  return (available ? 0 : 10) + byTag;
}

/** Return the templates that contain every word of `text`, available ones first. */
export function findTemplates(all: readonly Template[], text: string): Template[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const searchedText = ({ name, title, description, framework, tags }: Template): string =>
    // Users who read Chinese may still search for English words.
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
    .filter((template) => words.every((word) => searchedText(template).includes(word)))
    .sort((a, b) => rank(a) - rank(b) || byTitle(a, b));
}

type Category = Template['category'];

/** In the order of the page. */
export const CATEGORY_LABELS: Record<Category, string> = {
  train: t({ message: 'Train', context: 'templates' }),
  scale_out: t({ message: 'Scale out', context: 'templates' }),
  sweep: t({ message: 'Sweep', context: 'templates' }),
  inference: t({ message: 'Inference', context: 'templates' }),
  benchmark: t({ message: 'Benchmark', context: 'templates' }),
  other: t({ message: 'Other', context: 'templates' }),
};

export interface TemplateGroup {
  name: Category | 'recent';
  title: string;
  templates: Template[];
}

/** Return the non-empty groups of a page, each template once: the recently used ones, then the
 * others by category. */
export function groupTemplates(
  templates: readonly Template[],
  recent: readonly string[],
): TemplateGroup[] {
  const used = recent.flatMap((name) => templates.find((each) => each.name === name) ?? []);
  const others = templates.filter(({ name }) => !recent.includes(name));
  const groups: TemplateGroup[] = [
    { name: 'recent', title: t`Recently used`, templates: used },
    ...groupByCategory(others),
  ];
  return groups.filter((group) => group.templates.length > 0);
}

/** Return every category with its templates. */
export const groupByCategory = (templates: readonly Template[]): TemplateGroup[] =>
  (Object.keys(CATEGORY_LABELS) as Category[]).map((name) => ({
    name,
    title: CATEGORY_LABELS[name],
    templates: templates.filter(({ category }) => category === name),
  }));
