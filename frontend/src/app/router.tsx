/**
 * The router, and its reaction to a lost login. The routes are in routes/: administrators' in
 * admin.ts, redirects of former addresses in former.ts, the login and the guard in frame.ts, all
 * others in pages.ts. Home and the layout come with the app; each other page is a chunk of its own.
 */
import { createRouter } from '@tanstack/react-router';
import { onLoginLost } from '@/api/client';
import { onLoginEventFromOtherTabs } from '@/features/login/otherTabs';
import { dropDrafts, tabStorage } from '@/lib/drafts';
import { setNavigation } from '@/lib/navigation';
import { notifyLogout } from '@/lib/onLogout';
import { queryClient } from '@/lib/queries';
import { liveStore } from '@/live/store';
import { PendingPage } from '@/ui/PendingPage';
import { ErrorPage } from './ErrorPage';
import { adminPages } from './routes/admin';
import { formerPages } from './routes/former';
import { enrolRoute, loginRoute, loginSearch, rootRoute, signedInRoute } from './routes/frame';
import { pages } from './routes/pages';

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    loginRoute,
    enrolRoute,
    signedInRoute.addChildren([...pages, ...adminPages, ...formerPages]),
  ]),
  defaultPreload: 'intent',
  defaultPendingMs: 300,
  defaultPendingComponent: PendingPage,
  defaultErrorComponent: ErrorPage,
  scrollRestoration: true,
});

/** Remove the user's data from this tab and go to the login. */
async function goToLogin(next: string): Promise<void> {
  notifyLogout();
  await router.navigate({ to: '/login', search: loginSearch(next), replace: true });
  liveStore.close();
  queryClient.clear();
}

setNavigation({ router, goToLogin });

function leave(): void {
  const { pathname, href } = router.state.location;
  if (pathname !== '/login') void goToLogin(href);
}

onLoginLost(leave);
onLoginEventFromOtherTabs((event) => {
  if (event.kind !== 'logged-out') return;
  dropDrafts(tabStorage());
  leave();
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
