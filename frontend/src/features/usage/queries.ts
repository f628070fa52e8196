import { queryOptions, type UseQueryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { UsageHistory, UsageTotals } from '@/api/types';
import type { Measure } from './chart';
import type { Grouping } from './search';
import { rowsBy, type Span } from './span';

/** Slurm's accounting is read at intervals, so there is no need to poll often. */
const REFRESH = { refetchInterval: 60_000, staleTime: 0 } as const;

export type HistoryQuery = Pick<
  UseQueryOptions<UsageHistory>,
  'queryKey' | 'queryFn' | 'refetchInterval' | 'staleTime'
>;

export type GroupBy = Exclude<Grouping, 'group'>;

/** Narrow the type: the same address also returns CSV text, which is not requested here. */
async function totals(answer: Promise<UsageTotals | string>): Promise<UsageTotals> {
  return (await answer) as UsageTotals;
}

const rangeOf = ({ from, to }: Span) => ({ from, to });

/** A table by time has a chart by user. */
const chartBy = <T extends Grouping>(by: T) =>
  (by === 'period' ? 'user' : by) as Exclude<T, 'period'>;

export const usageQuery = (span: Span, by: Grouping) => {
  const query = { ...rangeOf(span), by: rowsBy(by, span.step) };
  return queryOptions({
    queryKey: ['admin', 'usage', query],
    queryFn: () => totals(unwrap(api.GET('/api/v1/admin/usage', { params: { query } }))),
    ...REFRESH,
  });
};

export function usageHref(span: Span, by: Grouping): string {
  const query = { ...rangeOf(span), by: rowsBy(by, span.step), format: 'csv' };
  return `/api/v1/admin/usage?${new URLSearchParams(query)}`;
}

export function usageHistoryQuery(span: Span, by: Grouping, measure: Measure): HistoryQuery {
  const query = { ...rangeOf(span), by: chartBy(by), step: span.step, measure };
  return {
    queryKey: ['admin', 'usage', 'history', query],
    queryFn: () => unwrap(api.GET('/api/v1/admin/usage/history', { params: { query } })),
    ...REFRESH,
  };
}

export const myUsageQuery = (span: Span) => {
  const query = { ...rangeOf(span), by: span.step };
  return queryOptions({
    queryKey: ['my-usage', query],
    queryFn: () => totals(unwrap(api.GET('/api/v1/me/usage', { params: { query } }))),
    ...REFRESH,
  });
};

export function myUsageHistoryQuery(span: Span, measure: Measure): HistoryQuery {
  const query = { ...rangeOf(span), step: span.step, measure };
  return {
    queryKey: ['my-usage', 'history', query],
    queryFn: () => unwrap(api.GET('/api/v1/me/usage/history', { params: { query } })),
    ...REFRESH,
  };
}

export const groupUsageQuery = (group: string, span: Span, by: GroupBy) => {
  const query = {
    ...rangeOf(span),
    by: rowsBy(by, span.step) as Exclude<ReturnType<typeof rowsBy>, 'group'>,
  };
  return queryOptions({
    queryKey: ['group-usage', group, query],
    queryFn: () =>
      totals(
        unwrap(api.GET('/api/v1/groups/{group}/usage', { params: { path: { group }, query } })),
      ),
    ...REFRESH,
  });
};

export function groupUsageHref(group: string, span: Span, by: GroupBy): string {
  const query = { ...rangeOf(span), by: rowsBy(by, span.step), format: 'csv' };
  return `/api/v1/groups/${encodeURIComponent(group)}/usage?${new URLSearchParams(query)}`;
}

export function groupUsageHistoryQuery(
  group: string,
  span: Span,
  by: GroupBy,
  measure: Measure,
): HistoryQuery {
  const query = { ...rangeOf(span), by: chartBy(by), step: span.step, measure };
  const params = { path: { group }, query };
  return {
    queryKey: ['group-usage', group, 'history', query],
    queryFn: () => unwrap(api.GET('/api/v1/groups/{group}/usage/history', { params })),
    ...REFRESH,
  };
}
