/** Which people a list is of; the address of the page names it. Pure. */
export const FILTERS = [
  { value: 'all', label: 'Everyone' },
  { value: 'active', label: 'Active' },
  { value: 'disabled', label: 'Disabled' },
  { value: 'admins', label: 'Administrators' },
  { value: 'viewers', label: 'Viewers' },
  { value: 'missing', label: 'Gone from the directory' },
  { value: 'deleted', label: 'Deleted' },
] as const;

export type Filter = (typeof FILTERS)[number]['value'];

export const asFilter = (value: unknown): Filter =>
  FILTERS.find((filter) => filter.value === value)?.value ?? 'all';
