/** The line of a log that names the error. Pure. */

const ERROR =
  /(\b[A-Za-z_.]*(Error|Exception|Interrupt)\b\s*(:|$)|^\s*(error|fatal)\b|\berror:|out of memory|oom[- ]kill|command not found|no such file|permission denied|segmentation fault|killed)/i;

/** The line that most probably says what went wrong: the last that looks like an error, else the last. */
export function errorLine(log: string): string | null {
  const lines = log.split('\n').map((line) => line.trim());
  const printed = lines.filter((line) => line !== '');
  return printed.findLast((line) => ERROR.test(line)) ?? printed.at(-1) ?? null;
}
