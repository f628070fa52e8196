/** The routes behind the login, except for administrators' (admin.ts). */
import { createRoute } from '@tanstack/react-router';
import { readBenchmarksSearch } from '@/features/benchmarks/search';
import { readClusterSearch } from '@/features/cluster/search';
import { readCompareSearch } from '@/features/compare/search';
import { readFilesSearch } from '@/features/files/search';
import { HomePage } from '@/features/home/HomePage';
import { prefetchHome } from '@/features/home/prefetch';
import { readJobsSearch } from '@/features/jobs/search';
import { readSessionSearch, readStartAgainSearch } from '@/features/sessions/search';
import { readSubmitLink, type SubmitLink } from '@/features/submit/link';
import { readStartLink } from '@/lib/startLink';
import { signedInRoute } from './frame';
import { lazyPage } from './lazyPage';

const homeRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/',
  loader: prefetchHome,
  component: HomePage,
});

const startRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/start',
  validateSearch: readStartLink,
  component: lazyPage(() => import('@/features/start/StartPage'), 'StartPage'),
});

const sessionRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/sessions/$id',
  validateSearch: readSessionSearch,
  component: lazyPage(() => import('@/features/sessions/SessionPage'), 'SessionPage'),
});

const logRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/sessions/$id/log',
  validateSearch: (search: Record<string, unknown>): { stream?: 'stdout' } =>
    search.stream === 'stdout' ? { stream: 'stdout' } : {},
  component: lazyPage(() => import('@/features/sessions/SessionLogPage'), 'SessionLogPage'),
});

const tensorboardRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/sessions/$id/tensorboard',
  component: lazyPage(() => import('@/features/tensorboard/TensorboardPage'), 'TensorboardPage'),
});

const jobsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/jobs',
  validateSearch: readJobsSearch,
  component: lazyPage(() => import('@/features/jobs/JobsPage'), 'JobsPage'),
});

/** `ids`: the compared runs, separated by commas. */
const compareRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/jobs/compare',
  validateSearch: readCompareSearch,
  component: lazyPage(() => import('@/features/compare/ComparePage'), 'ComparePage'),
});

const benchmarksRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/benchmarks',
  validateSearch: readBenchmarksSearch,
  component: lazyPage(() => import('@/features/benchmarks/BenchmarksPage'), 'BenchmarksPage'),
});

/** `template`: the form's template; `from`: the job whose parameters are copied; `own`: a free
 * script; `imported`: filled in from a file; the rest is filled in by links. */
interface SubmitSearch extends SubmitLink {
  template?: string;
  from?: string;
  own?: true;
  imported?: true;
}

const submitRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/jobs/new',
  validateSearch: (search: Record<string, unknown>): SubmitSearch => ({
    ...(typeof search.template === 'string' ? { template: search.template } : {}),
    ...(typeof search.from === 'string' ? { from: search.from } : {}),
    ...(search.own === true ? { own: true } : {}),
    ...(search.imported === true ? { imported: true } : {}),
    ...readSubmitLink(search),
  }),
  component: lazyPage(() => import('@/features/submit/SubmitPage'), 'SubmitPage'),
});

const jobRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/jobs/$id',
  component: lazyPage(() => import('@/features/jobs/JobPage'), 'JobPage'),
});

/** `task`: one task of an array; `find`: the initial search text. */
interface JobLogSearch {
  stream?: 'stderr';
  task?: number;
  find?: string;
}

const jobLogRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/jobs/$id/log',
  validateSearch: (search: Record<string, unknown>): JobLogSearch => ({
    ...(search.stream === 'stderr' ? { stream: 'stderr' } : {}),
    ...(Number.isInteger(search.task) ? { task: Number(search.task) } : {}),
    ...(typeof search.find === 'string' || typeof search.find === 'number'
      ? { find: String(search.find) }
      : {}),
  }),
  component: lazyPage(() => import('@/features/jobs/JobLogPage'), 'JobLogPage'),
});

const jobTensorboardRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/jobs/$id/tensorboard',
  validateSearch: (search: Record<string, unknown>): { logdir?: string } =>
    typeof search.logdir === 'string' ? { logdir: search.logdir } : {},
  component: lazyPage(() => import('@/features/tensorboard/TensorboardPage'), 'JobTensorboardPage'),
});

const runningTensorboardRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/tensorboards/$id',
  component: lazyPage(
    () => import('@/features/tensorboard/TensorboardPage'),
    'RunningTensorboardPage',
  ),
});

const sharedRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/shared',
  component: lazyPage(() => import('@/features/tensorboard/SharedPage'), 'SharedPage'),
});

/** The target of the page that nginx shows instead of a session that is not running. */
const startAgainRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/start-again/$name',
  validateSearch: readStartAgainSearch,
  component: lazyPage(() => import('@/features/sessions/StartAgainPage'), 'StartAgainPage'),
});

const filesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/files',
  validateSearch: readFilesSearch,
  component: lazyPage(() => import('@/features/files/FilesPage'), 'FilesPage'),
});

const glossaryRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/glossary',
  component: lazyPage(() => import('@/features/glossary/GlossaryPage'), 'GlossaryPage'),
});

const clusterRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/cluster',
  validateSearch: readClusterSearch,
  component: lazyPage(() => import('@/features/cluster/ClusterPage'), 'ClusterPage'),
});

const accountRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/account',
  component: lazyPage(() => import('@/features/account/AccountPage'), 'AccountPage'),
});

const accountSectionRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/account/$section',
  component: lazyPage(() => import('@/features/account/AccountPage'), 'AccountPage'),
});

/** The page to which the command line sends its user. The fragment is the code to confirm. */
const deviceRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/device',
  component: lazyPage(() => import('@/features/account/DevicePage'), 'DevicePage'),
});

/** The page for the managers of a group. */
const groupRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/groups/$group',
  component: lazyPage(() => import('@/features/groups/ManagedGroupPage'), 'ManagedGroupPage'),
});

export const pages = [
  homeRoute,
  startRoute,
  sessionRoute,
  logRoute,
  tensorboardRoute,
  jobsRoute,
  compareRoute,
  benchmarksRoute,
  submitRoute,
  jobRoute,
  jobLogRoute,
  jobTensorboardRoute,
  sharedRoute,
  runningTensorboardRoute,
  startAgainRoute,
  filesRoute,
  glossaryRoute,
  clusterRoute,
  accountRoute,
  accountSectionRoute,
  deviceRoute,
  groupRoute,
] as const;
