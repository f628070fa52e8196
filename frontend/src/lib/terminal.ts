/** Converts program output to what a terminal would show: no color codes, progress bars overwritten
 * in place. */

// CSI sequences, OSC sequences (to BEL or ST), and two-byte escapes: ECMA-48.
export const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

/**
 * Return the range of a line that remains after its carriage returns. It uses no regular
 * expression, which would take most of a minute for 128 KiB of returns before a letter.
 */
export function lastOverwrite(line: string): [begin: number, end: number] {
  let end = line.length;
  while (line[end - 1] === '\r') end--;
  return [line.slice(0, end).lastIndexOf('\r') + 1, end];
}

export function plainOutput(raw: string): string {
  return raw
    .replace(ESCAPES, '')
    .split('\n')
    .map((line) => line.slice(...lastOverwrite(line)))
    .join('\n');
}
