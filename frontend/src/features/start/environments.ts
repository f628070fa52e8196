/** Search, order and contents of environments. Pure. */
import { t } from '@lingui/core/macro';
import type { Environment } from '@/api/types';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';

/** Return `all` with the available favorites first, then the one that was used last. */
export function favoritesFirst<T extends Pick<Environment, 'name' | 'available'>>(
  all: readonly T[],
  favorites: readonly string[],
  last: string | null,
): T[] {
  const rank = ({ available, name }: T): number => {
    if (!available) return 2;
    if (favorites.includes(name)) return 0;
    return name === last ? 1 : 2;
  };
  return [...all].sort((a, b) => rank(a) - rank(b));
}

type EnvironmentChoice = Pick<Environment, 'name' | 'title' | 'available'>;

/** Return the first available environment of `preferred`, else the first available one. */
export function firstAvailable<T extends EnvironmentChoice>(
  all: readonly T[],
  ...preferred: (string | null | undefined)[]
): T | undefined {
  const available = all.filter((environment) => environment.available);
  const matches = preferred.map((name) => available.find((choice) => choice.name === name));
  return matches.find((match) => match !== undefined) ?? available[0];
}

/** An environment that a link or a setup requests. */
export interface RequestedEnvironment {
  by: 'link' | 'setup';
  name: string;
}

/** Explain that the requested environment is unavailable; null if it is available. */
export function unavailableEnvironmentText(
  all: readonly EnvironmentChoice[],
  requested: RequestedEnvironment | null,
): string | null {
  if (requested === null) return null;
  const { name, by } = requested;
  const match = all.find((environment) => environment.name === name);
  if (match?.available) return null;
  if (match === undefined)
    return by === 'link'
      ? t`The link requests the environment “${name}”, which doesn't exist on this site. Another one is selected below.`
      : t`The setup uses the environment “${name}”, which no longer exists on this site. Another one is selected below.`;
  const title = translateExact(match.title);
  return by === 'link'
    ? t`The link requests the environment ${title}, which is not available now. Another one is selected below.`
    : t`The setup uses the environment ${title}, which is not available now. Another one is selected below.`;
}

type SearchedFields = Pick<
  Environment,
  'name' | 'title' | 'description' | 'language' | 'framework' | 'version' | 'packages'
>;

/** Return whether the environment's texts contain every word of `search`. */
export function matchesSearch(environment: SearchedFields, search: string): boolean {
  const { name, title, description, language, framework, version, packages } = environment;
  // Users who read Chinese may still search for English words.
  const about = [title, description].flatMap((text) => [text, translateExact(text)]);
  const searched = [name, ...about, `${language} ${version}`, framework, ...packages]
    .join('\n')
    .toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched.includes(word));
}

const RUNTIMES: Record<Environment['runtime'], string> = {
  apptainer: t`A container image`,
  modules: t`Environment modules of the cluster`,
  virtualenv: t`A Python virtualenv`,
};

const GPU: Record<Environment['gpu'], string> = {
  none: t`Uses none`,
  optional: t`Optional: works without a GPU`,
  required: t`Required`,
};

/** Return the labels and values that describe an environment. */
export function contentRows(environment: Environment): [string, string][] {
  const {
    language,
    version,
    framework,
    cuda,
    min_driver: driver,
    packages,
    versions,
  } = environment;
  const withVersions = packages.map((name) =>
    versions[name] ? `${name} ${versions[name]}` : name,
  );
  const rows: [string, string | null][] = [
    [t`Language`, version ? `${language} ${version}` : language],
    [t`Framework`, framework],
    ['GPU', environment.cpu_build ? t`Uses none: a build for CPUs` : GPU[environment.gpu]],
    ['CUDA', cuda && driver ? t`${cuda}, needs driver ${driver} or newer` : cuda],
    [
      t({ message: 'Notebooks', context: 'environment' }),
      environment.kernel ? null : t`None: for terminals and jobs only`,
    ],
    [t`Packages`, packages.length > 0 ? joinWithCommas(withVersions) : null],
    [t`Starter notebooks`, joinWithCommas(environment.starters) || null],
    [t`Runs from`, RUNTIMES[environment.runtime]],
  ];
  return rows.filter((row): row is [string, string] => row[1] !== null);
}
