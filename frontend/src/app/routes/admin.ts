/** The administrators' pages. */
import { createRoute } from '@tanstack/react-router';
import { readAuditSearch } from '@/features/audit/search';
import { readLimitsSearch } from '@/features/limits/search';
import { readUsageSearch } from '@/features/usage/search';
import { asFilter, type Filter } from '@/features/users/filters';
import { searchText } from '@/lib/searchText';
import { signedInRoute } from './frame';
import { lazyPage } from './lazyPage';

const adminRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin',
  component: lazyPage(() => import('@/features/admin/AllSessionsPage'), 'AllSessionsPage'),
});

const adminImagesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/images',
  component: lazyPage(() => import('@/features/admin/ImagesPage'), 'ImagesPage'),
});

const adminCatalogRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/catalog',
  component: lazyPage(() => import('@/features/admin/CatalogPage'), 'CatalogPage'),
});

const adminUsersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/users',
  validateSearch: readUsersSearch,
  component: lazyPage(() => import('@/features/users/UsersPage'), 'UsersPage'),
});

const adminUserRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/users/$username',
  component: lazyPage(() => import('@/features/users/UserPage'), 'UserPage'),
});

/** Not below /admin/users, where "new" may be a username. */
const newUserRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/new/user',
  component: lazyPage(() => import('@/features/users/NewUserPage'), 'NewUserPage'),
});

const newUsersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/new/users',
  validateSearch: readImportSearch,
  component: lazyPage(() => import('@/features/users/NewUsersPage'), 'NewUsersPage'),
});

const adminGroupsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/groups',
  validateSearch: (search: Record<string, unknown>): { q?: string; all?: true } => ({
    ...queryOf(search),
    ...(search.all === true ? { all: true } : {}),
  }),
  component: lazyPage(() => import('@/features/groups/GroupsPage'), 'GroupsPage'),
});

const adminGroupRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/groups/$group',
  component: lazyPage(() => import('@/features/groups/GroupPage'), 'GroupPage'),
});

const adminLimitsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/limits',
  validateSearch: readLimitsSearch,
  component: lazyPage(() => import('@/features/limits/LimitsPage'), 'LimitsPage'),
});

const adminUsageRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/usage',
  validateSearch: readUsageSearch,
  component: lazyPage(() => import('@/features/usage/UsagePage'), 'UsagePage'),
});

const adminAuditRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/audit',
  validateSearch: readAuditSearch,
  component: lazyPage(() => import('@/features/audit/AuditPage'), 'AuditPage'),
});

const adminAnnouncementsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/announcements',
  component: lazyPage(
    () => import('@/features/announcements/AnnouncementsPage'),
    'AnnouncementsPage',
  ),
});

const adminStatusRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/status',
  component: lazyPage(() => import('@/features/status/StatusPage'), 'StatusPage'),
});

export const adminPages = [
  adminRoute,
  adminImagesRoute,
  adminCatalogRoute,
  adminUsersRoute,
  adminUserRoute,
  newUserRoute,
  newUsersRoute,
  adminGroupsRoute,
  adminGroupRoute,
  adminLimitsRoute,
  adminUsageRoute,
  adminAuditRoute,
  adminAnnouncementsRoute,
  adminStatusRoute,
] as const;

export function readUsersSearch(search: Record<string, unknown>): { q?: string; state?: Filter } {
  const state = asFilter(search.state);
  return { ...queryOf(search), ...(state === 'all' ? {} : { state }) };
}

export function readImportSearch(search: Record<string, unknown>): { import?: string } {
  return typeof search.import === 'string' ? { import: search.import } : {};
}

function queryOf({ q }: { q?: unknown }): { q?: string } {
  const text = searchText(q);
  return text === '' ? {} : { q: text };
}
