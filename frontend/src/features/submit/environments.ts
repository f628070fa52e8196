/** Environments to choose from, for templates with several. Pure. */
import type { Environment, Template } from '@/api/types';

type TemplateEnvironments = Pick<Template, 'environment' | 'environments'>;

/** Return the available environments and the earlier job's; none if the template fixes its own. */
export function choicesOf(
  { environments }: TemplateEnvironments,
  all: readonly Environment[],
  earlier: string | null,
): Environment[] {
  if (environments === null) return [];
  return all.filter(({ kernel, available, name }) => kernel && (available || name === earlier));
}

/** Return the first choice in `preferred`, else the template's own, else the first choice. */
export function firstChoice(
  { environment }: TemplateEnvironments,
  choices: readonly Environment[],
  preferred: readonly (string | null | undefined)[],
): string {
  const names = choices.map((choice) => choice.name);
  const own = environment ?? '';
  return [...preferred, own].find((name) => name && names.includes(name)) ?? names[0] ?? own;
}
