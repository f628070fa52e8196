import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { UsageTotals } from '@/api/types';
import type { Range } from './months';
import type { By } from './search';

/** Slurm's accounting is read now and then; nothing here changes by the second. */
const REFRESH_MS = 60_000;

/** The same address also gives CSV, which is a text; these questions never ask for it. */
async function totals(answer: Promise<UsageTotals | string>): Promise<UsageTotals> {
  return (await answer) as UsageTotals;
}

export const usageQuery = (range: Range, by: By) =>
  queryOptions({
    queryKey: ['admin', 'usage', range.from, range.to, by],
    queryFn: () =>
      totals(unwrap(api.GET('/api/v1/admin/usage', { params: { query: { ...range, by } } }))),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });

export function usageHref(range: Range, by: By): string {
  const parameters = new URLSearchParams({ ...range, by, format: 'csv' });
  return `/api/v1/admin/usage?${parameters}`;
}

export const myUsageQuery = (range: Range) =>
  queryOptions({
    queryKey: ['my-usage', range.from, range.to],
    queryFn: () => totals(unwrap(api.GET('/api/v1/me/usage', { params: { query: range } }))),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });

export type GroupBy = Exclude<By, 'group'>;

export const groupUsageQuery = (group: string, range: Range, by: GroupBy) =>
  queryOptions({
    queryKey: ['group-usage', group, range.from, range.to, by],
    queryFn: () =>
      totals(
        unwrap(
          api.GET('/api/v1/groups/{group}/usage', {
            params: { path: { group }, query: { ...range, by } },
          }),
        ),
      ),
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });

export function groupUsageHref(group: string, range: Range, by: GroupBy): string {
  const parameters = new URLSearchParams({ ...range, by, format: 'csv' });
  return `/api/v1/groups/${encodeURIComponent(group)}/usage?${parameters}`;
}
