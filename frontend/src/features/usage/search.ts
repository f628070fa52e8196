/** The usage page's filters, in its address. Pure. */

/** The unit of a table's rows; a period is a day or a month, as the range is shown. */
export type Grouping = 'user' | 'group' | 'account' | 'period';

export const GROUPINGS: readonly Grouping[] = ['user', 'group', 'account', 'period'];

export interface UsageSearch {
  /** 30 days by default, unless there are months */
  range?: 'year' | 'months';
  /** months, as 2026-11, both inclusive */
  from?: string;
  to?: string;
  by?: Grouping;
  /** only names that contain this */
  q?: string;
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

const isMonth = (value: unknown): value is string => typeof value === 'string' && MONTH.test(value);

/** Parse an address's parameters, including `person`, `group` and by `month` of former versions. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const q = search.q ?? search.person ?? search.group;
  const named = search.by === 'month' ? 'period' : search.by;
  const by = GROUPINGS.find((one) => one === named);
  return {
    ...((search.range === 'year' || search.range === 'months') && { range: search.range }),
    ...(isMonth(search.from) && { from: search.from }),
    ...(isMonth(search.to) && { to: search.to }),
    ...(by !== undefined && by !== 'user'
      ? { by }
      : search.group !== undefined && search.by === undefined && { by: 'group' }),
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
  };
}
