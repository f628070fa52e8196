/** What the audit is searched for: from and to the page's address, and in the API's words. Pure. */

export interface AuditSearch {
  /** free text */
  q?: string;
  actor?: string;
  action?: string;
  target?: string;
  /** days of the reader's calendar, as 2026-11-22; both are inclusive */
  from?: string;
  to?: string;
  ip?: string;
}

/** Those that a phone folds away. */
export const MORE_FILTERS = ['actor', 'target', 'from', 'to', 'ip'] as const;
const TEXTS = ['q', 'actor', 'action', 'target', 'ip'] as const;
const DAYS = ['from', 'to'] as const;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

const isDay = (value: unknown): value is string =>
  typeof value === 'string' && DAY.test(value) && !Number.isNaN(Date.parse(value));

/** Takes an address's parameters as they are; what means nothing is left out. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  const found: AuditSearch = {};
  for (const name of TEXTS) {
    const value = search[name];
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).trim();
      if (text !== '') found[name] = text;
    }
  }
  for (const name of DAYS) {
    const value = search[name];
    if (isDay(value)) found[name] = value;
  }
  return found;
}

/** One filter changed; an empty text takes it away. */
export function withFilter(
  search: AuditSearch,
  name: keyof AuditSearch,
  value: string,
): AuditSearch {
  return readAuditSearch({ ...search, [name]: value });
}

/** The moment at which a day begins for the reader; `later` days after it. */
function beginningOf(day: string, later = 0): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

export interface AuditQuery {
  query?: string;
  actor?: string;
  action?: string;
  target?: string;
  from?: string;
  to?: string;
  ip?: string;
}

/** For the API, which counts in moments: a day is all of it, until the next begins. */
export function toQuery({ q, from, to, ...rest }: AuditSearch): AuditQuery {
  return {
    ...rest,
    ...(q && { query: q }),
    ...(from && { from: beginningOf(from) }),
    ...(to && { to: beginningOf(to, 1) }),
  };
}

/** The address to download all matching events. */
export function exportHref(search: AuditSearch, format: 'csv' | 'jsonl'): string {
  const parameters = new URLSearchParams({ format, ...toQuery(search) });
  return `/api/v1/admin/audit/export?${parameters}`;
}
