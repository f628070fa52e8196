/** What a user finds in markup: its text, and the things that have a name. */

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
};

const decoded = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity] ?? entity);

/** The words that stand there, in one line. */
export function textOf(markup: string): string {
  const text = markup
    .replace(/<(style|script)\b.*?<\/\1>/gs, ' ')
    .replace(/<!--.*?-->/gs, '')
    .replace(/<\/?(?:b|strong|em|code|time|a)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ');
  return decoded(text).replace(/\s+/g, ' ').trim();
}

type Element = 'button' | 'a' | 'h1' | 'h2' | 'h3' | 'label' | 'article' | 'section' | 'li' | 'ul';

interface Found {
  attributes: string;
  markup: string;
}

/** All elements of a kind that has none of itself inside. */
export function all(markup: string, element: Element): Found[] {
  const each = new RegExp(`<${element}\\b([^>]*)>(.*?)</${element}>`, 'gs');
  return [...markup.matchAll(each)].map(([, attributes = '', inside = '']) => ({
    attributes,
    markup: inside,
  }));
}

/** What these are called: by their label where they have one, else by their text. */
export const names = (markup: string, element: Element): string[] =>
  all(markup, element).map(({ attributes, markup: inside }) => {
    const label = /\baria-label="([^"]*)"/.exec(attributes)?.[1];
    return label === undefined ? textOf(inside) : decoded(label);
  });

/** What stands in those with a role, such as `alert`, up to their first end. */
export const withRole = (markup: string, role: string): string[] =>
  [...markup.matchAll(new RegExp(`<(\\w+)\\b[^>]*\\brole="${role}"[^>]*>(.*?)</\\1>`, 'gs'))].map(
    ([, , inside = '']) => textOf(inside),
  );

/** Whether something is being waited for. */
export const isLoading = (markup: string): boolean => markup.includes('aria-label="Loading"');
