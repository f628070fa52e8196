/** Program output as a terminal would leave it: no colour codes, progress bars overwritten in place. */

// CSI sequences, OSC sequences (to BEL or ST), and two-byte escapes: ECMA-48.
export const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

function lastOverwrite(line: string): string {
  const parts = line.replace(/\r+$/, '').split('\r');
  return parts[parts.length - 1] ?? '';
}

export function plainOutput(raw: string): string {
  return raw.replace(ESCAPES, '').split('\n').map(lastOverwrite).join('\n');
}
