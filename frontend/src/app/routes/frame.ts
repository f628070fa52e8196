/** What every address is below: the frame of all pages, the two that stand outside of it, and who gets in. */
import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';
import { needsEnrolment } from '@/features/login/secondFactor';
import { isOwnLogin } from '@/lib/ownLogin';
import { meQuery, queryClient } from '@/lib/queries';
import { UnknownAddress } from '@/ui/NotFoundPage';
import { NothingToShow } from '../ErrorPage';

export const rootRoute = createRootRoute({
  notFoundComponent: UnknownAddress,
  errorComponent: NothingToShow,
});

/** `next`: where to go after the login; `replaced`: another page had put its login in this one's place. */
interface LoginSearch {
  next?: string;
  replaced?: true;
}

export const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (search: Record<string, unknown>): LoginSearch => ({
    ...(typeof search.next === 'string' ? { next: search.next } : {}),
    ...(search.replaced === true ? { replaced: true } : {}),
  }),
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
      let me = await queryClient.ensureQueryData(meQuery);
      // another tab may have logged in since this one asked
      if (!isOwnLogin(me.login_id)) me = await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
      if (!isOwnLogin(me.login_id)) {
        await endForeignLogin();
        throw redirect({ to: '/login', search: { replaced: true } });
      }
      return { me };
    } catch (error) {
      if (needsEnrolment(error)) throw redirect({ to: '/second-factor' });
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({ to: '/login', search: loginSearch(location.href) });
    }
  },
  component: lazyRouteComponent(() => import('../MemberLayout'), 'MemberLayout'),
  errorComponent: NothingToShow,
});

/** End a login that no page of the portal began in this browser. */
async function endForeignLogin(): Promise<void> {
  queryClient.clear();
  await unwrap(api.POST('/api/v1/logout'));
}

/** Where to go after the login; home needs no saying. */
export function loginSearch(href: string): { next?: string } {
  return href === '/' ? {} : { next: href };
}
