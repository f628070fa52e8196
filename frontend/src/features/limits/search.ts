/** The user or group of the limits page, in its address. Pure. */

/** At most one of these; without one, the page lists all limits. */
export interface LimitsSearch {
  user?: string;
  group?: string;
  default?: true;
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

/** Read the address; also `person`, as in addresses of former versions. */
export function readLimitsSearch(search: Record<string, unknown>): LimitsSearch {
  const [user, group] = [text(search.user ?? search.person), text(search.group)];
  if (user !== '') return { user };
  if (group !== '') return { group };
  return search.default === true ? { default: true } : {};
}
