/**
 * Renders pages without a browser: the router's own routes, with recorded responses of a portal
 * (answers/). Requests are answered and the page rendered again until it makes no more; effects do
 * not run.
 */
import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { type Query, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  type HistoryState,
  Outlet,
  RouterProvider,
} from '@tanstack/react-router';
import { renderToString } from 'react-dom/server';
import { vi } from 'vitest';
import type { FieldError } from '@/api/problem';
import type { LiveEvent } from '@/live/reducer';
import { cluster } from './answers/cluster';
import { me } from './answers/me';
import { recordedAt } from './answers/recordedAt';
import { storage } from './storage';

/** The base of relative addresses, which a browser knows by itself. */
const ORIGIN = 'https://portal.example';

class RequestHere extends Request {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(typeof input === 'string' ? new URL(input, ORIGIN) : input, init);
  }
}

/** A problem instead of a response. */
export class ErrorAnswer {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly errors: readonly FieldError[] = [],
  ) {}
}

/** Responses by path below /api/v1; a function computes one from the request's body. */
export type Answers = Readonly<Record<string, unknown>>;

const problemResponse = ({ status, detail, errors }: ErrorAnswer): Response =>
  Response.json({ type: 'urn:portal:test', title: 'No', status, detail, errors }, { status });

function portal(answers: Answers) {
  return async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname.replace('/api/v1', '');
    const response = answers[path] ?? (path === '/me' ? me : undefined);
    const answer = typeof response === 'function' ? response(await request.json()) : response;
    if (answer instanceof ErrorAnswer) return problemResponse(answer);
    if (answer === undefined)
      return problemResponse(new ErrorAnswer(404, `No answer to ${path} is recorded.`));
    return Response.json(answer);
  };
}

type Snapshot = Extract<LiveEvent, { kind: 'snapshot' }>;

export interface Scene {
  answers?: Answers;
  /** data of the event stream; null: nothing yet */
  snapshot?: Partial<Snapshot> | null;
  /** state of the page's entry in the tab's history */
  state?: HistoryState;
  /** renders once, before any response */
  early?: boolean;
}

const QUIET: Snapshot = { kind: 'snapshot', sessions: [], jobs: [], cluster, announcements: [] };
/** The maximum number of rounds of dependent requests; a page that needs more never settles. */
const MAX_ROUNDS = 10;

/** Return whether a query of the rendered page is still pending. */
const isOpen = ({ state, options }: Query): boolean =>
  state.data === undefined &&
  state.error === null &&
  (options as { enabled?: unknown }).enabled !== false;

/** The storage of a browser with this login. */
function loggedIn(): ReturnType<typeof storage> {
  const kept = storage();
  kept.setItem('portal-login-id', me.login_id ?? '');
  return kept;
}

/** Create the application of a tab opened at `recordedAt`. */
async function application(snapshot: Scene['snapshot']) {
  vi.resetModules();
  vi.setSystemTime(recordedAt);
  let emit: (event: LiveEvent) => void = () => {};
  vi.doMock('@/live/share', () => ({
    openLive: (sink: { emit: typeof emit }) => {
      emit = sink.emit;
      return { close: () => {}, reopen: () => {} };
    },
  }));
  const { router } = await import('@/app/router');
  const { queryClient } = await import('@/lib/queries');
  const { theme } = await import('@/app/theme');
  const { signedInRoute } = await import('@/app/routes/frame');
  const { liveStore: store } = await import('@/live/store');
  signedInRoute.update({ component: Outlet });
  queryClient.setDefaultOptions({
    queries: { retry: false, retryOnMount: false, staleTime: Number.POSITIVE_INFINITY },
  });
  store.open(me.username);
  if (snapshot !== null) emit({ ...QUIET, ...snapshot });
  return { router, queryClient, theme };
}

/** React reports this of a component that is loaded when it is first drawn. */
const LAZY = /does not support Suspense/;

/** Render the page at this address. */
export async function page(
  address: string,
  { answers = {}, snapshot, state = {}, early = false }: Scene = {},
): Promise<string> {
  vi.stubGlobal('Request', RequestHere);
  vi.stubGlobal('window', {
    localStorage: loggedIn(),
    sessionStorage: storage(),
    location: new URL(address, ORIGIN),
  });
  vi.stubGlobal('fetch', portal(answers));
  const { router, queryClient, theme } = await application(snapshot);
  const history = createMemoryHistory({ initialEntries: [address] });
  history.replace(address, state);
  router.update({ history });
  await router.load();
  const draw = (): string =>
    renderToString(
      <I18nProvider i18n={i18n}>
        <MantineProvider theme={theme}>
          <QueryClientProvider client={queryClient}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </MantineProvider>
      </I18nProvider>,
    );
  const openQueries = (): Query[] =>
    early ? [] : queryClient.getQueryCache().getAll().filter(isOpen);
  let markup = draw();
  const loads = (): boolean => !early && LAZY.test(markup);
  for (let round = 0; openQueries().length > 0 || loads(); round++) {
    if (round === MAX_ROUNDS) throw new Error(`${address} asks for more after each answer.`);
    await Promise.allSettled(openQueries().map((query) => query.fetch()));
    await vi.dynamicImportSettled();
    markup = draw();
  }
  queryClient.clear();
  // React's server renderer leaves what fails to the browser, with the reason
  const why = /<template[^>]*\bdata-msg="([^"]*)"/.exec(markup)?.[1];
  if (why !== undefined && !early) throw new Error(`${address} can't be drawn: ${why}`);
  return markup.replace(/<style\b.*?<\/style>/gs, '');
}
