/** The compared runs: parsed from and written to the page's address. Pure. */
import { MAX_COMPARED } from '@/features/jobs/selection';

export interface CompareSearch {
  /** ids, separated by commas */
  ids?: string;
  /** also the rows that are equal in all runs */
  all?: true;
}

/** Parse an address's parameters; invalid ones are dropped. */
export function readCompareSearch(search: Record<string, unknown>): CompareSearch {
  const ids = typeof search.ids === 'string' ? idsOf(search.ids) : [];
  return {
    ...(ids.length > 0 && { ids: ids.join() }),
    ...(search.all === true && { all: true }),
  };
}

/** Parse the ids: each once, and no more than can be compared. */
export function idsOf(text: string | undefined): string[] {
  const ids = (text ?? '').split(',').map((id) => id.trim());
  return [...new Set(ids.filter((id) => id !== ''))].slice(0, MAX_COMPARED);
}
