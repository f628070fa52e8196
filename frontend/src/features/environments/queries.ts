/** Queries of the catalog's environments, and their order. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { Environment } from '@/api/types';
import { locale } from '@/i18n';
import { translateExact } from '@/i18n/translate';

type Known = Pick<Environment, 'title' | 'framework' | 'available' | 'gpu'>;

function rank({ available, framework, gpu }: Known): number {
  if (!available) return 3;
  return framework !== null ? 2 : gpu === 'none' ? 1 : 0;
}

/** Sort general environments first, then the frameworks by name, and unavailable ones last. */
export function inEnvironmentOrder<T extends Known>(all: readonly T[]): T[] {
  const byTitle = (a: T, b: T): number =>
    translateExact(a.title).localeCompare(translateExact(b.title), locale());
  return [...all].sort((a, b) => rank(a) - rank(b) || byTitle(a, b));
}

export const environmentsQuery = queryOptions({
  queryKey: ['environments'],
  queryFn: async () => inEnvironmentOrder((await unwrap(api.GET('/api/v1/environments'))).items),
  staleTime: 60_000,
});
