/** Redirects from addresses of former versions, which bookmarks may still contain. */
import { createRoute, redirect } from '@tanstack/react-router';
import { readImportSearch, readUsersSearch } from './admin';
import { signedInRoute } from './frame';

const usersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/people',
  validateSearch: readUsersSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ to: '/admin/users', search, replace: true });
  },
});

const userRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/people/$username',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/admin/users/$username', params, replace: true });
  },
});

const newUserRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/new/person',
  beforeLoad: () => {
    throw redirect({ to: '/admin/new/user', replace: true });
  },
});

const newUsersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/admin/new/people',
  validateSearch: readImportSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ to: '/admin/new/users', search, replace: true });
  },
});

export const formerPages = [usersRoute, userRoute, newUserRoute, newUsersRoute] as const;
