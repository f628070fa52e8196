/** Which environments one may choose from for a template that leaves the choice. Pure. */
import type { Environment, Template } from '@/api/types';

type Choosing = Pick<Template, 'environment' | 'environments'>;

/** Those that can be used, and an earlier job's; none where there is no choice. */
export function choicesOf(
  { environments }: Choosing,
  all: readonly Environment[],
  earlier: string | null,
): Environment[] {
  if (environments === null) return [];
  return all.filter((known) => known.kernel && (known.available || known.name === earlier));
}

/** The first of `wanted` that can be chosen, else the template's own, else any. */
export function firstChoice(
  { environment }: Choosing,
  choices: readonly Environment[],
  wanted: readonly (string | null | undefined)[],
): string {
  const names = choices.map((choice) => choice.name);
  const own = environment ?? '';
  return [...wanted, own].find((name) => name && names.includes(name)) ?? names[0] ?? own;
}
