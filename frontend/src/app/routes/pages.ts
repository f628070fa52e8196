/** The pages behind the login, but for the administrators' (admin.ts). */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { readBenchmarksSearch } from '@/features/benchmarks/search';
import { readClusterSearch } from '@/features/cluster/search';
import { readCompareSearch } from '@/features/compare/search';
import { readFilesSearch } from '@/features/files/search';
import { readJobsSearch } from '@/features/jobs/search';
import { readSessionSearch } from '@/features/sessions/search';
import { readStartLink } from '@/features/sessions/startLink';
import { type Filled, readFilled } from '@/features/submit/link';
import { memberRoute } from './frame';

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
  validateSearch: readSessionSearch,
  component: lazyRouteComponent(() => import('@/features/sessions/SessionPage'), 'SessionPage'),
});

const logRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/sessions/$id/log',
  validateSearch: (search: Record<string, unknown>): { stream?: 'stdout' } =>
    search.stream === 'stdout' ? { stream: 'stdout' } : {},
  component: lazyRouteComponent(
    () => import('@/features/sessions/SessionLogPage'),
    'SessionLogPage',
  ),
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

/** `template`: whose form; `from`: the job whose parameters it begins with; `own`: a free script; and
 * what a link fills in. */
interface SubmitSearch extends Filled {
  template?: string;
  from?: string;
  own?: true;
}

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

const jobRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/jobs/$id',
  component: lazyRouteComponent(() => import('@/features/jobs/JobPage'), 'JobPage'),
});

/** `task`: of an array, whose; `find`: what to look for at once. */
interface JobLogSearch {
  stream?: 'stderr';
  task?: number;
  find?: string;
}

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

const runningTensorboardRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/tensorboards/$id',
  component: lazyRouteComponent(
    () => import('@/features/tensorboard/TensorboardPage'),
    'RunningTensorboardPage',
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

/** For the managers of a group. */
const groupRoute = createRoute({
  getParentRoute: () => memberRoute,
  path: '/groups/$group',
  component: lazyRouteComponent(
    () => import('@/features/groups/ManagedGroupPage'),
    'ManagedGroupPage',
  ),
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
  notRunningRoute,
  filesRoute,
  glossaryRoute,
  clusterRoute,
  accountRoute,
  accountSectionRoute,
  groupRoute,
] as const;
