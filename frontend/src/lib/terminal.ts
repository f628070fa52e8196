/** Program output as a terminal would leave it: no colour codes, progress bars overwritten in place. */

// CSI sequences, OSC sequences (to BEL or ST), and two-byte escapes: ECMA-48.
export const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

/**
 * Where the text begins and ends that carriage returns leave of a line. Without regular expressions,
 * which take most of a minute for 128 KiB of returns before a letter.
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
