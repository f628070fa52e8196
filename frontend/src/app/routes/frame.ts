/** The root routes: the frame of all pages, the pages outside of it, and the login guard. */
import { createRootRoute, createRoute, redirect } from '@tanstack/react-router';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';
import { needsEnrolment } from '@/features/login/secondFactor';
import { isOwnLogin } from '@/lib/ownLogin';
import { meQuery, queryClient } from '@/lib/queries';
import { fetchSnapshot } from '@/live/snapshot';
import { liveStore } from '@/live/store';
import { UnknownAddress } from '@/ui/NotFoundPage';
import { NothingToShow } from '../ErrorPage';
import { SignedInLayout } from '../SignedInLayout';
import { lazyPage } from './lazyPage';

export const rootRoute = createRootRoute({
  notFoundComponent: UnknownAddress,
  errorComponent: NothingToShow,
});

/** `next`: where to go after the login; `replaced`: another user's login has replaced this page's. */
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
  component: lazyPage(() => import('@/features/login/LoginPage'), 'LoginPage'),
  errorComponent: NothingToShow,
});

/** The setup of a second factor, the only page open to a user whose role requires it and who has
 * none. */
export const enrolRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/second-factor',
  component: lazyPage(() => import('@/features/account/EnrolPage'), 'EnrolPage'),
  errorComponent: NothingToShow,
});

export const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  beforeLoad: async ({ location }) => {
    try {
      let first = liveStore.isOpen() ? null : fetchSnapshot();
      let me = await queryClient.ensureQueryData(meQuery);
      if (!isOwnLogin(me.login_id)) {
        // another tab may have logged in since the requests
        first = null;
        me = await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
      }
      if (!isOwnLogin(me.login_id)) {
        await endForeignLogin();
        throw redirect({ to: '/login', search: { replaced: true } });
      }
      const snapshot = await first;
      if (snapshot !== null) liveStore.seed(me.username, snapshot);
      return { me };
    } catch (error) {
      if (needsEnrolment(error)) throw redirect({ to: '/second-factor' });
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({ to: '/login', search: loginSearch(location.href) });
    }
  },
  component: SignedInLayout,
  errorComponent: NothingToShow,
});

/** End a login that was not made by a page of the portal in this browser. */
async function endForeignLogin(): Promise<void> {
  queryClient.clear();
  await unwrap(api.POST('/api/v1/logout'));
}

/** Return the search parameters that lead back after a login; the home page is the default. */
export function loginSearch(href: string): { next?: string } {
  return href === '/' ? {} : { next: href };
}
