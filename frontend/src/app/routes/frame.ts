/** What every address is below: the frame of all pages, the two that stand outside of it, and who gets in. */
import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { ApiError } from '@/api/problem';
import { needsEnrolment } from '@/features/account/secondFactor';
import { NothingToShow } from '../ErrorPage';
import { UnknownAddress } from '../NotFoundPage';
import { meQuery, queryClient } from '../queries';

export const rootRoute = createRootRoute({
  notFoundComponent: UnknownAddress,
  errorComponent: NothingToShow,
});

export const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === 'string' ? { next: search.next } : {},
  component: lazyRouteComponent(() => import('@/features/login/LoginPage'), 'LoginPage'),
  errorComponent: NothingToShow,
});

/** Where someone whose role needs a second factor sets it up; nothing else works for them. */
export const enrolRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/second-factor',
  component: lazyRouteComponent(() => import('@/features/account/EnrolPage'), 'EnrolPage'),
  errorComponent: NothingToShow,
});

export const memberRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'member',
  beforeLoad: async ({ location }) => {
    try {
      return { me: await queryClient.ensureQueryData(meQuery) };
    } catch (error) {
      if (needsEnrolment(error)) throw redirect({ to: '/second-factor' });
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({ to: '/login', search: loginSearch(location.href) });
    }
  },
  component: lazyRouteComponent(() => import('../MemberLayout'), 'MemberLayout'),
  errorComponent: NothingToShow,
});

/** Where to go after the login; home needs no saying. */
export function loginSearch(href: string): { next?: string } {
  return href === '/' ? {} : { next: href };
}
