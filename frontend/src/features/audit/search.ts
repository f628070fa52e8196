/** The audit log's filters: parsed from and written to the page's address, and as API parameters.
 * Pure. */
import { isDay, startOfDay } from '@/lib/isoDays';

export interface AuditSearch {
  /** free text */
  q?: string;
  actor?: string;
  action?: string;
  target?: string;
  /** dates in the reader's time zone, as 2026-11-22; both are inclusive */
  from?: string;
  to?: string;
  ip?: string;
}

/** Filters that are collapsed on a phone. */
export const MORE_FILTERS = ['actor', 'target', 'from', 'to', 'ip'] as const;
const TEXTS = ['q', 'actor', 'action', 'target', 'ip'] as const;
const DAYS = ['from', 'to'] as const;

/** Parse an address's parameters; invalid ones are dropped. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  const result: AuditSearch = {};
  for (const name of TEXTS) {
    const value = search[name];
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).trim();
      if (text !== '') result[name] = text;
    }
  }
  for (const name of DAYS) {
    const value = search[name];
    if (typeof value === 'string' && isDay(value)) result[name] = value;
  }
  return result;
}

/** Return the filters with one changed; an empty text removes it. */
export function withFilter(
  search: AuditSearch,
  name: keyof AuditSearch,
  value: string,
): AuditSearch {
  return readAuditSearch({ ...search, [name]: value });
}

/** The filters as API parameters. */
export interface AuditQuery {
  query?: string;
  actor?: string;
  action?: string;
  target?: string;
  from?: string;
  to?: string;
  ip?: string;
}

/** Convert to API parameters, which are times: a day ends when the next begins. */
export function toQuery({ q, from, to, ...rest }: AuditSearch): AuditQuery {
  return {
    ...rest,
    ...(q && { query: q }),
    ...(from && { from: startOfDay(from) }),
    ...(to && { to: startOfDay(to, 1) }),
  };
}

/** Return the address to download all matching events. */
export function exportHref(search: AuditSearch, format: 'csv' | 'jsonl'): string {
  const parameters = new URLSearchParams({ format, ...toQuery(search) });
  return `/api/v1/admin/audit/export?${parameters}`;
}
