/** Line endings: a text field only has "\n"; the file's own are restored when it is saved. */
export type LineEnding = '\n' | '\r\n' | 'mixed';

export function lineEnding(text: string): LineEnding {
  const pairs = text.split('\r\n').length - 1;
  const bare = text.replaceAll('\r\n', '');
  if (bare.includes('\r')) return 'mixed';
  if (pairs === 0) return '\n';
  return bare.includes('\n') ? 'mixed' : '\r\n';
}

/** Convert to the field's line endings. */
export const forField = (text: string): string => text.replace(/\r\n?/g, '\n');

/** Convert to the file's line endings. */
export const forFile = (text: string, ends: LineEnding): string =>
  ends === '\r\n' ? text.replaceAll('\n', '\r\n') : text;
