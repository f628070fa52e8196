import { t } from '@lingui/core/macro';
/** The filters of the list of users, as in the page's address. Pure. */
export const FILTERS = [
  { value: 'all', label: t`Everyone` },
  { value: 'active', label: t`Active` },
  { value: 'disabled', label: t`Disabled` },
  { value: 'admins', label: t`Administrators` },
  { value: 'viewers', label: t`Viewers` },
  { value: 'missing', label: t`Removed from the directory` },
  { value: 'deleted', label: t`Deleted` },
] as const;

export type Filter = (typeof FILTERS)[number]['value'];

export const asFilter = (value: unknown): Filter =>
  FILTERS.find((filter) => filter.value === value)?.value ?? 'all';
