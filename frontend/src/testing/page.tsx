/**
 * Pages as they are first drawn, without a browser: the router's own routes, on answers that a portal
 * once gave (answers/). What a page asks for is answered before it is drawn again, until it asks for
 * nothing more; effects don't run.
 */
import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { type Query, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, Outlet, RouterProvider } from '@tanstack/react-router';
import { renderToString } from 'react-dom/server';
import { vi } from 'vitest';
import type { LiveEvent } from '@/live/reducer';
import { cluster } from './answers/cluster';
import { me } from './answers/me';
import { recordedAt } from './answers/recordedAt';
import { storage } from './storage';

/** The address that relative ones belong to, which a browser knows by itself. */
const ORIGIN = 'https://portal.example';

class RequestHere extends Request {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(typeof input === 'string' ? new URL(input, ORIGIN) : input, init);
  }
}

/** A problem instead of an answer. */
export class Refused {
  constructor(
    readonly status: number,
    readonly detail: string,
  ) {}
}

/** Answers by their paths below /api/v1; a function makes one of the request's body. */
export type Answers = Readonly<Record<string, unknown>>;

const problem = ({ status, detail }: Refused): Response =>
  Response.json({ type: 'urn:portal:test', title: 'No', status, detail }, { status });

function portal(answers: Answers) {
  return async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname.replace('/api/v1', '');
    const found = answers[path] ?? (path === '/me' ? me : undefined);
    const answer = typeof found === 'function' ? found(await request.json()) : found;
    if (answer instanceof Refused) return problem(answer);
    if (answer === undefined) return problem(new Refused(404, `No answer to ${path} is recorded.`));
    return Response.json(answer);
  };
}

type Snapshot = Extract<LiveEvent, { kind: 'snapshot' }>;

export interface Scene {
  answers?: Answers;
  /** what the event stream has sent; null: nothing yet */
  live?: Partial<Snapshot> | null;
  /** draws it once, before anything is answered */
  early?: boolean;
}

const QUIET: Snapshot = { kind: 'snapshot', sessions: [], jobs: [], cluster, announcements: [] };
/** Of questions that follow from answers; a page that has more of them asks for ever. */
const MOST_ROUNDS = 10;

/** Asked by what was drawn, which may have no use for it yet. */
const isOpen = ({ state, options }: Query): boolean =>
  state.data === undefined &&
  state.error === null &&
  (options as { enabled?: unknown }).enabled !== false;

/** The storage of a browser that began this login. */
function loggedIn(): ReturnType<typeof storage> {
  const kept = storage();
  kept.setItem('portal-login-id', me.login_id ?? '');
  return kept;
}

/** The application as a tab has it that was just opened at `recordedAt`. */
async function application(live: Scene['live']) {
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
  const { memberRoute } = await import('@/app/routes/frame');
  const { live: store } = await import('@/live/store');
  memberRoute.update({ component: Outlet });
  queryClient.setDefaultOptions({
    queries: { retry: false, retryOnMount: false, staleTime: Number.POSITIVE_INFINITY },
  });
  store.open(me.username);
  if (live !== null) emit({ ...QUIET, ...live });
  return { router, queryClient, theme };
}

/** The markup of the page at this address. */
export async function page(
  address: string,
  { answers = {}, live, early = false }: Scene = {},
): Promise<string> {
  vi.stubGlobal('Request', RequestHere);
  vi.stubGlobal('window', {
    localStorage: loggedIn(),
    sessionStorage: storage(),
    location: new URL(address, ORIGIN),
  });
  vi.stubGlobal('fetch', portal(answers));
  const { router, queryClient, theme } = await application(live);
  router.update({ history: createMemoryHistory({ initialEntries: [address] }) });
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
  const asked = (): Query[] => (early ? [] : queryClient.getQueryCache().getAll().filter(isOpen));
  let markup = draw();
  for (let round = 0; asked().length > 0; round++) {
    if (round === MOST_ROUNDS) throw new Error(`${address} asks for more after each answer.`);
    await Promise.allSettled(asked().map((query) => query.fetch()));
    markup = draw();
  }
  queryClient.clear();
  // on a server React leaves to the browser what it couldn't draw, and says why
  const why = /<template[^>]*\bdata-msg="([^"]*)"/.exec(markup)?.[1];
  if (why !== undefined && !early) throw new Error(`${address} can’t be drawn: ${why}`);
  return markup.replace(/<style\b.*?<\/style>/gs, '');
}
