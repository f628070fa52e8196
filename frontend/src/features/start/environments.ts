/** How environments are found, ordered by favorites, and what is in them. Pure. */
import { t } from '@lingui/core/macro';
import type { Environment } from '@/api/types';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';

/** The same with one's favourites first; what can't be used stays behind. */
export function favoritesFirst<T extends Pick<Environment, 'name' | 'available'>>(
  all: readonly T[],
  favorites: readonly string[],
): T[] {
  const first = (one: T): boolean => one.available && favorites.includes(one.name);
  return [...all.filter(first), ...all.filter((one) => !first(one))];
}

type Named = Pick<Environment, 'name' | 'title' | 'available'>;

/** The first of the wanted ones that can be used, else the first that can. */
export function firstAvailable<T extends Named>(
  all: readonly T[],
  ...wanted: (string | null | undefined)[]
): T | undefined {
  const available = all.filter((one) => one.available);
  const named = wanted.map((name) => available.find((one) => one.name === name));
  return named.find((found) => found !== undefined) ?? available[0];
}

/** An environment that something asks for: a link or a setup. */
export interface Asked {
  by: 'link' | 'setup';
  name: string;
}

/** Why another environment is chosen than was asked for; null where it can be used. */
export function missingText(all: readonly Named[], asked: Asked | null): string | null {
  if (asked === null) return null;
  const found = all.find((one) => one.name === asked.name);
  if (found?.available) return null;
  const { name, by } = asked;
  if (found === undefined)
    return by === 'link'
      ? t`The link requests the environment “${name}”, which doesn't exist on this site. Another one is selected below.`
      : t`The setup uses the environment “${name}”, which no longer exists on this site. Another one is selected below.`;
  const title = translateExact(found.title);
  return by === 'link'
    ? t`The link requests the environment ${title}, which is not available now. Another one is selected below.`
    : t`The setup uses the environment ${title}, which is not available now. Another one is selected below.`;
}

type Findable = Pick<
  Environment,
  'name' | 'title' | 'description' | 'language' | 'framework' | 'version' | 'packages'
>;

/** Whether every word of what was typed is found somewhere in it. */
export function isFound(environment: Findable, typed: string): boolean {
  const { name, title, description, language, framework, version, packages } = environment;
  // Who reads it in Chinese may still type the English words.
  const about = [title, description].flatMap((text) => [text, translateExact(text)]);
  const whole = [name, ...about, `${language} ${version}`, framework, ...packages]
    .join('\n')
    .toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => whole.includes(word));
}

const RUNTIMES: Record<Environment['runtime'], string> = {
  apptainer: t`A container image`,
  modules: t`Environment modules of the cluster`,
  virtualenv: t`A Python virtualenv`,
};

const GPU: Record<Environment['gpu'], string> = {
  none: t`Uses none`,
  optional: t`Optional: works without a GPU`,
  required: t`Needs at least one`,
};

/** What one may want to know of it before choosing: label and value. */
export function contents(environment: Environment): [string, string][] {
  const {
    language,
    version,
    framework,
    cuda,
    min_driver: driver,
    packages,
    versions,
  } = environment;
  const inside = packages.map((name) => (versions[name] ? `${name} ${versions[name]}` : name));
  const rows: [string, string | null][] = [
    [t`Language`, version ? `${language} ${version}` : language],
    [t`Framework`, framework],
    ['GPU', environment.cpu_build ? t`Uses none: a build for CPUs` : GPU[environment.gpu]],
    ['CUDA', cuda && driver ? t`${cuda}, needs driver ${driver} or newer` : cuda],
    [
      t({ message: 'Notebooks', context: 'environment' }),
      environment.kernel ? null : t`None: for terminals and jobs only`,
    ],
    [t`Packages`, packages.length > 0 ? joinWithCommas(inside) : null],
    [t`Starter notebooks`, joinWithCommas(environment.starters) || null],
    [t`Runs from`, RUNTIMES[environment.runtime]],
  ];
  return rows.filter((row): row is [string, string] => row[1] !== null);
}
