/** The pages and their addresses. Each page is a chunk of its own; the login page needs none of the others. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { onSignedOut } from '@/api/client';
import { ApiError } from '@/api/problem';
import { onOtherTabs } from '@/features/account/otherTabs';
import { needsEnrolment } from '@/features/account/secondFactor';
import { readAuditSearch } from '@/features/audit/search';
import { readBenchmarksSearch } from '@/features/benchmarks/search';
import { readClusterSearch } from '@/features/cluster/search';
import { readCompareSearch } from '@/features/compare/search';
import { readFilesSearch } from '@/features/files/search';
import { readJobsSearch } from '@/features/jobs/search';
import { readLimitsSearch } from '@/features/limits/search';
import { asFilter, type Filter } from '@/features/people/filters';
import { readStartLink } from '@/features/start/link';
import { type Filled, readFilled } from '@/features/submit/link';
import { readUsageSearch } from '@/features/usage/search';
import { personLeaves } from '@/lib/leaving';
import { live } from '@/live/store';
import { ErrorPage } from './ErrorPage';
import { NotFoundPage } from './NotFoundPage';
import { PendingPage } from './PendingPage';
import { meQuery, queryClient } from './queries';

const rootRoute = createRootRoute({ notFoundComponent: NotFoundPage });

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === 'string' ? { next: search.next } : {},
  component: lazyRouteComponent(() => import('@/features/login/LoginPage'), 'LoginPage'),
});

/** Where someone whose role needs a second factor sets it up; nothing else works for them. */
const enrolRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/second-factor',
  component: lazyRouteComponent(() => import('@/features/account/EnrolPage'), 'EnrolPage'),
});

const memberRoute = createRoute({
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
  component: lazyRouteComponent(() => import('./MemberLayout'), 'MemberLayout'),
});

const homeRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/',
  component: lazyRouteComponent(() => import('@/features/home/HomePage'), 'HomePage'),
});

const startRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/start',
  validateSearch: readStartLink,
  component: lazyRouteComponent(() => import('@/features/start/StartPage'), 'StartPage'),
});

const sessionRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/sessions/$id',
  component: lazyRouteComponent(() => import('@/features/session/SessionPage'), 'SessionPage'),
});

const logRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/sessions/$id/log',
  validateSearch: (search: Record<string, unknown>): { stream?: 'stdout' } =>
    search.stream === 'stdout' ? { stream: 'stdout' } : {},
  component: lazyRouteComponent(() => import('@/features/log/LogPage'), 'LogPage'),
});

const tensorboardRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/sessions/$id/tensorboard',
  component: lazyRouteComponent(
    () => import('@/features/tensorboard/TensorboardPage'),
    'TensorboardPage',
  ),
});

const jobsRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/jobs',
  validateSearch: readJobsSearch,
  component: lazyRouteComponent(() => import('@/features/jobs/JobsPage'), 'JobsPage'),
});

/** Runs side by side; `ids` are theirs, with commas between. */
const compareRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/jobs/compare',
  validateSearch: readCompareSearch,
  component: lazyRouteComponent(() => import('@/features/compare/ComparePage'), 'ComparePage'),
});

const benchmarksRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/benchmarks',
  validateSearch: readBenchmarksSearch,
  component: lazyRouteComponent(
    () => import('@/features/benchmarks/BenchmarksPage'),
    'BenchmarksPage',
  ),
});

const submitRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/jobs/new',
  validateSearch: (search: Record<string, unknown>): SubmitSearch => ({
    ...(typeof search.template === 'string' ? { template: search.template } : {}),
    ...(typeof search.from === 'string' ? { from: search.from } : {}),
    ...(search.own === true ? { own: true } : {}),
    ...readFilled(search),
  }),
  component: lazyRouteComponent(() => import('@/features/submit/SubmitPage'), 'SubmitPage'),
});

/** `template`: whose form; `from`: the job whose parameters it begins with; `own`: a free script; and
 * what a link fills in. */
interface SubmitSearch extends Filled {
  template?: string;
  from?: string;
  own?: true;
}

const jobRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/jobs/$id',
  component: lazyRouteComponent(() => import('@/features/jobs/JobPage'), 'JobPage'),
});

const jobLogRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/jobs/$id/log',
  validateSearch: (search: Record<string, unknown>): JobLogSearch => ({
    ...(search.stream === 'stderr' ? { stream: 'stderr' } : {}),
    ...(Number.isInteger(search.task) ? { task: Number(search.task) } : {}),
    ...(typeof search.find === 'string' || typeof search.find === 'number'
      ? { find: String(search.find) }
      : {}),
  }),
  component: lazyRouteComponent(() => import('@/features/jobs/JobLogPage'), 'JobLogPage'),
});

/** `task`: of an array, whose; `find`: what to look for at once. */
interface JobLogSearch {
  stream?: 'stderr';
  task?: number;
  find?: string;
}

const jobTensorboardRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/jobs/$id/tensorboard',
  validateSearch: (search: Record<string, unknown>): { logdir?: string } =>
    typeof search.logdir === 'string' ? { logdir: search.logdir } : {},
  component: lazyRouteComponent(
    () => import('@/features/tensorboard/TensorboardPage'),
    'JobTensorboardPage',
  ),
});

const sharedRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/shared',
  component: lazyRouteComponent(() => import('@/features/tensorboard/SharedPage'), 'SharedPage'),
});

/** Where the gate's page for a session that isn't running leads its owner. */
const notRunningRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/start-again/$name',
  component: lazyRouteComponent(
    () => import('@/features/sessions/NotRunningPage'),
    'NotRunningPage',
  ),
});

const filesRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/files',
  validateSearch: readFilesSearch,
  component: lazyRouteComponent(() => import('@/features/files/FilesPage'), 'FilesPage'),
});

const glossaryRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/glossary',
  component: lazyRouteComponent(() => import('@/features/glossary/GlossaryPage'), 'GlossaryPage'),
});

const clusterRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/cluster',
  validateSearch: readClusterSearch,
  component: lazyRouteComponent(() => import('@/features/cluster/ClusterPage'), 'ClusterPage'),
});

const accountRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('@/features/account/AccountPage'), 'AccountPage'),
});

const accountSectionRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/account/$section',
  component: lazyRouteComponent(() => import('@/features/account/AccountPage'), 'AccountPage'),
});

const adminRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin',
  component: lazyRouteComponent(() => import('@/features/admin/AdminPage'), 'AdminPage'),
});

const adminImagesRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/images',
  component: lazyRouteComponent(() => import('@/features/admin/ImagesPage'), 'ImagesPage'),
});

const adminCatalogRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/catalog',
  component: lazyRouteComponent(() => import('@/features/admin/CatalogPage'), 'CatalogPage'),
});

const adminPeopleRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/people',
  validateSearch: (search: Record<string, unknown>): { q?: string; state?: Filter } => {
    const state = asFilter(search.state);
    return { ...textOf(search.q), ...(state === 'all' ? {} : { state }) };
  },
  component: lazyRouteComponent(() => import('@/features/people/PeoplePage'), 'PeoplePage'),
});

const adminPersonRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/people/$username',
  component: lazyRouteComponent(() => import('@/features/people/PersonPage'), 'PersonPage'),
});

/** Not below /admin/people, where somebody may be called "new". */
const newPersonRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/new/person',
  component: lazyRouteComponent(() => import('@/features/people/NewPersonPage'), 'NewPersonPage'),
});

const newPeopleRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/new/people',
  validateSearch: (search: Record<string, unknown>): { import?: string } =>
    typeof search.import === 'string' ? { import: search.import } : {},
  component: lazyRouteComponent(() => import('@/features/people/NewPeoplePage'), 'NewPeoplePage'),
});

const adminGroupsRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/groups',
  validateSearch: (search: Record<string, unknown>): { q?: string; all?: true } => ({
    ...textOf(search.q),
    ...(search.all === true ? { all: true } : {}),
  }),
  component: lazyRouteComponent(() => import('@/features/groups/GroupsPage'), 'GroupsPage'),
});

const adminGroupRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/groups/$group',
  component: lazyRouteComponent(() => import('@/features/groups/GroupPage'), 'GroupPage'),
});

/** For a group's leaders. */
const groupRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/groups/$group',
  component: lazyRouteComponent(() => import('@/features/groups/LedGroupPage'), 'LedGroupPage'),
});

const adminLimitsRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/limits',
  validateSearch: readLimitsSearch,
  component: lazyRouteComponent(() => import('@/features/limits/LimitsPage'), 'LimitsPage'),
});

const adminUsageRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/usage',
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import('@/features/usage/UsagePage'), 'UsagePage'),
});

const adminAuditRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/audit',
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import('@/features/audit/AuditPage'), 'AuditPage'),
});

const adminAnnouncementsRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/announcements',
  component: lazyRouteComponent(
    () => import('@/features/announcements/AnnouncementsPage'),
    'AnnouncementsPage',
  ),
});

const adminStatusRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/admin/status',
  component: lazyRouteComponent(() => import('@/features/status/StatusPage'), 'StatusPage'),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    loginRoute,
    enrolRoute,
    memberRoute.addChildren([
      homeRoute,
      startRoute,
      sessionRoute,
      logRoute,
      tensorboardRoute,
      notRunningRoute,
      jobsRoute,
      submitRoute,
      compareRoute,
      benchmarksRoute,
      jobRoute,
      jobLogRoute,
      jobTensorboardRoute,
      sharedRoute,
      filesRoute,
      clusterRoute,
      glossaryRoute,
      accountRoute,
      accountSectionRoute,
      adminRoute,
      adminImagesRoute,
      adminCatalogRoute,
      adminLimitsRoute,
      adminUsageRoute,
      adminAuditRoute,
      adminAnnouncementsRoute,
      adminStatusRoute,
      adminPeopleRoute,
      adminPersonRoute,
      newPersonRoute,
      newPeopleRoute,
      adminGroupsRoute,
      adminGroupRoute,
      groupRoute,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultPendingMs: 300,
  defaultPendingComponent: PendingPage,
  defaultErrorComponent: ErrorPage,
  scrollRestoration: true,
});

/** What was searched for; the router reads "2024" in an address as a number. */
function textOf(q: unknown): { q?: string } {
  return (typeof q === 'string' && q !== '') || typeof q === 'number' ? { q: String(q) } : {};
}

function loginSearch(href: string): { next?: string } {
  return href === '/' ? {} : { next: href };
}

/** Asks for a login, and leaves nothing of the person behind in this tab. */
export async function goToLogin(next: string): Promise<void> {
  personLeaves();
  await router.navigate({ to: '/login', search: loginSearch(next), replace: true });
  live.close();
  queryClient.clear();
}

function leave(): void {
  const { pathname, href } = router.state.location;
  if (pathname !== '/login') void goToLogin(href);
}

onSignedOut(leave);
onOtherTabs((news) => {
  if (news.kind === 'logged-out') leave();
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
