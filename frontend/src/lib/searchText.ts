/** Return a text of an address's parameters; the router parses "2024" as a number. */
export const searchText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
