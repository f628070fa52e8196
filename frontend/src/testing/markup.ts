/** Queries on markup: its text, and elements with their accessible names. */

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
};

const decoded = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity] ?? entity);

/** Return the text, in one line. */
export function textOf(markup: string): string {
  const text = markup
    .replace(/<(style|script)\b.*?<\/\1>/gs, ' ')
    .replace(/<!--.*?-->/gs, '')
    .replace(/<\/?(?:b|strong|em|code|time|a)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ');
  return decoded(text).replace(/\s+/g, ' ').trim();
}

type Element =
  | 'button'
  | 'a'
  | 'h1'
  | 'h2'
  | 'h3'
  | 'label'
  | 'option'
  | 'article'
  | 'section'
  | 'li'
  | 'ul';

interface FoundElement {
  attributes: string;
  markup: string;
}

/** Return all elements of a kind, except those that contain one of the same kind. */
export function all(markup: string, element: Element): FoundElement[] {
  const each = new RegExp(`<${element}\\b([^>]*)>(.*?)</${element}>`, 'gs');
  return [...markup.matchAll(each)].map(([, attributes = '', inside = '']) => ({
    attributes,
    markup: inside,
  }));
}

/** Return the elements' names: their label if they have one, else their text. */
export const names = (markup: string, element: Element): string[] =>
  all(markup, element).map(({ attributes, markup: inside }) => {
    const label = /\baria-label="([^"]*)"/.exec(attributes)?.[1];
    return label === undefined ? textOf(inside) : decoded(label);
  });

/** Return the contents of elements with a role, such as `alert`, up to their first closing tag. */
export const withRole = (markup: string, role: string): string[] =>
  [...markup.matchAll(new RegExp(`<(\\w+)\\b[^>]*\\brole="${role}"[^>]*>(.*?)</\\1>`, 'gs'))].map(
    ([, , inside = '']) => textOf(inside),
  );

/** Return whether something is still loading. */
export const isLoading = (markup: string): boolean => markup.includes('aria-label="Loading"');
