/** The selected benchmark: parsed from and written to the page's address. Pure. */
import { searchText } from '@/lib/searchText';

export interface BenchmarksSearch {
  template?: string;
  measure?: string;
}

/** Parse an address's parameters; invalid ones are dropped. */
export function readBenchmarksSearch(search: Record<string, unknown>): BenchmarksSearch {
  const [template, measure] = [searchText(search.template), searchText(search.measure)];
  return { ...(template && { template }), ...(measure && { measure }) };
}
