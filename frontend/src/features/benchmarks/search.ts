/** Which benchmark's figures are shown: from and to the page's address. Pure. */

export interface BenchmarksSearch {
  template?: string;
  measure?: string;
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Takes an address's parameters as they are; what means nothing is left out. */
export function readBenchmarksSearch(search: Record<string, unknown>): BenchmarksSearch {
  const [template, measure] = [textOf(search.template), textOf(search.measure)];
  return { ...(template && { template }), ...(measure && { measure }) };
}
