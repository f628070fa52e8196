/** The line of a log that names the error. Pure. */

const ERROR =
  /(\b[A-Za-z_.]*(Error|Exception|Interrupt)\b\s*(:|$)|^\s*(error|fatal)\b|\berror:|out of memory|oom[- ]kill|command not found|no such file|permission denied|segmentation fault|killed)/i;

/** Return the line that most likely names the error: the last that looks like one, else the last. */
export function errorLine(log: string): string | null {
  const lines = log.split('\n').map((line) => line.trim());
  const printed = lines.filter((line) => line !== '');
  return printed.findLast((line) => ERROR.test(line)) ?? printed.at(-1) ?? null;
}
