/** Which runs stand side by side: from and to the page's address. Pure. */
import { MOST_COMPARED } from '@/features/jobs/selection';

export interface CompareSearch {
  /** ids with commas between */
  ids?: string;
  /** also the rows that are equal in all of them */
  all?: true;
}

/** Takes an address's parameters as they are; what means nothing is left out. */
export function readCompareSearch(search: Record<string, unknown>): CompareSearch {
  const ids = typeof search.ids === 'string' ? idsOf(search.ids) : [];
  return {
    ...(ids.length > 0 && { ids: ids.join() }),
    ...(search.all === true && { all: true }),
  };
}

/** Each once, and no more than can be compared. */
export function idsOf(text: string | undefined): string[] {
  const ids = (text ?? '').split(',').map((id) => id.trim());
  return [...new Set(ids.filter((id) => id !== ''))].slice(0, MOST_COMPARED);
}
