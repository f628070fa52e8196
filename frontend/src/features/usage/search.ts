/** What usage is shown, in the page's address. Pure. */

export type By = 'user' | 'group' | 'month';

export interface UsageSearch {
  /** months, as 2026-11; both belong to what is shown */
  from?: string;
  to?: string;
  by?: By;
  /** shows only names that contain this */
  q?: string;
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

const isMonth = (value: unknown): value is string => typeof value === 'string' && MONTH.test(value);

/** Also reads `person` and `group`, as in addresses of former versions. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const q = search.q ?? search.person ?? search.group;
  return {
    ...(isMonth(search.from) && { from: search.from }),
    ...(isMonth(search.to) && { to: search.to }),
    ...(search.by === 'group' || search.by === 'month'
      ? { by: search.by }
      : search.group !== undefined && search.by === undefined && { by: 'group' }),
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
  };
}
