/** Whose limits the page shows, in its address. Pure. */

/** At most one of these; none is the list of all. */
export interface LimitsSearch {
  person?: string;
  group?: string;
  default?: true;
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

export function readLimitsSearch(search: Record<string, unknown>): LimitsSearch {
  const [person, group] = [text(search.person), text(search.group)];
  if (person !== '') return { person };
  if (group !== '') return { group };
  return search.default === true ? { default: true } : {};
}
