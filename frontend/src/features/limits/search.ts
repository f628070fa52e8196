/** Whose limits the page shows, in its address. Pure. */

/** At most one of these; none is the list of all. */
export interface LimitsSearch {
  user?: string;
  group?: string;
  default?: true;
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

/** Also reads `person`, as in addresses of former versions. */
export function readLimitsSearch(search: Record<string, unknown>): LimitsSearch {
  const [user, group] = [text(search.user ?? search.person), text(search.group)];
  if (user !== '') return { user };
  if (group !== '') return { group };
  return search.default === true ? { default: true } : {};
}
