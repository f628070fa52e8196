/** The selected benchmark: parsed from and written to the page's address. Pure. */

export interface BenchmarksSearch {
  template?: string;
  measure?: string;
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Parse an address's parameters; invalid ones are dropped. */
export function readBenchmarksSearch(search: Record<string, unknown>): BenchmarksSearch {
  const [template, measure] = [textOf(search.template), textOf(search.measure)];
  return { ...(template && { template }), ...(measure && { measure }) };
}
