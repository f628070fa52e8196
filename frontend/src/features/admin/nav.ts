/** The administrators' pages, grouped by subject. Pure. */
import { t } from '@lingui/core/macro';

export interface AdminEntry {
  label: string;
  to: string;
  /** other addresses that belong to it, with their subpaths */
  also?: readonly string[];
}

export interface AdminPart {
  title: string;
  entries: readonly AdminEntry[];
}

export const ADMIN_GROUPS: readonly AdminPart[] = [
  {
    title: t`Users`,
    entries: [
      { label: t`Users`, to: '/admin/users', also: ['/admin/new'] },
      { label: t`Groups`, to: '/admin/groups' },
      { label: t`Limits`, to: '/admin/limits' },
      { label: t`Usage`, to: '/admin/usage' },
    ],
  },
  {
    title: t`Operations`,
    entries: [
      { label: t`Sessions`, to: '/admin' },
      { label: t`Status`, to: '/admin/status' },
      { label: t`Announcements`, to: '/admin/announcements' },
      { label: t`Audit`, to: '/admin/audit' },
    ],
  },
  {
    title: t`Software`,
    entries: [
      { label: t`Images`, to: '/admin/images' },
      { label: t`Catalog`, to: '/admin/catalog' },
    ],
  },
];

function within(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Return whether the page at `path` belongs to an entry; `/admin` only matches itself. */
export function isCurrent(entry: AdminEntry, path: string): boolean {
  const current = path.length > 1 ? path.replace(/\/+$/, '') : path;
  if (entry.to === '/admin') return current === '/admin';
  return [entry.to, ...(entry.also ?? [])].some((folder) => within(current, folder));
}

/** Return the current entry, for the button that opens the dropdown on a phone. */
export function currentEntry(path: string): AdminEntry | undefined {
  return ADMIN_GROUPS.flatMap((part) => part.entries).find((entry) => isCurrent(entry, path));
}
