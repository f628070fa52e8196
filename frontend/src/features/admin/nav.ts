/** The administrators' pages, by what they are about. Pure. */
import { t } from '@lingui/core/macro';

export interface AdminPlace {
  label: string;
  to: string;
  /** other addresses that belong to it, each with all below it */
  also?: readonly string[];
}

export interface AdminPart {
  title: string;
  places: readonly AdminPlace[];
}

export const ADMIN_PARTS: readonly AdminPart[] = [
  {
    title: t`Users`,
    places: [
      { label: t`Users`, to: '/admin/users', also: ['/admin/new'] },
      { label: t`Groups`, to: '/admin/groups' },
      { label: t`Limits`, to: '/admin/limits' },
      { label: t`Usage`, to: '/admin/usage' },
    ],
  },
  {
    title: t`Operations`,
    places: [
      { label: t`Sessions`, to: '/admin' },
      { label: t`Status`, to: '/admin/status' },
      { label: t`Announcements`, to: '/admin/announcements' },
      { label: t`Audit`, to: '/admin/audit' },
    ],
  },
  {
    title: t`Software`,
    places: [
      { label: t`Images`, to: '/admin/images' },
      { label: t`Catalog`, to: '/admin/catalog' },
    ],
  },
];

function within(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Whether the page at `path` belongs to a place; `/admin` is a page of its own, not all below it. */
export function isAt(place: AdminPlace, path: string): boolean {
  const at = path.length > 1 ? path.replace(/\/+$/, '') : path;
  if (place.to === '/admin') return at === '/admin';
  return [place.to, ...(place.also ?? [])].some((folder) => within(at, folder));
}

/** Where someone is, for the button that opens the list on a phone. */
export function placeOf(path: string): AdminPlace | undefined {
  return ADMIN_PARTS.flatMap((part) => part.places).find((place) => isAt(place, path));
}
