/** The apps of a session: their query, actions and labels. */
import { t } from '@lingui/core/macro';
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { App, AppInput } from '@/api/types';
import type { StateLabel } from '@/ui/StateChip';
import { STATE_TONES } from '@/ui/tones';

const SOON_MS = 1000;
const REFRESH_MS = 10_000;

/** Return when to fetch again: sooner while an app starts. */
export function refetchMs(apps: readonly App[] | undefined): number {
  return apps?.some(({ state }) => state === 'starting') ? SOON_MS : REFRESH_MS;
}

/** The apps that the site declares, of which each session offers some. */
export const catalogAppsQuery = queryOptions({
  queryKey: ['apps'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/apps'))).items,
  staleTime: 60_000,
});

/** The apps that a running session offers; its server is asked each time. */
export const appsQuery = (id: string) =>
  queryOptions({
    queryKey: ['session-apps', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/sessions/{session_id}/apps', { params: { path: { session_id: id } } }),
      ),
    staleTime: 0,
    refetchInterval: ({ state }) => refetchMs(state.data?.items),
  });

/** Return the list of apps with this app updated. */
export const withApp = (shown: { items: App[] }, app: App): { items: App[] } => ({
  items: shown.items.map((each) => (each.name === app.name ? app : each)),
});

const pathOf = (session_id: string, name: string) => ({ params: { path: { session_id, name } } });

/** Start an app; with `replace`, one that runs with another input is stopped first. */
export const startApp = (
  id: string,
  name: string,
  input: AppInput,
  replace = false,
): Promise<App> =>
  unwrap(
    api.PUT('/api/v1/sessions/{session_id}/apps/{name}', {
      ...pathOf(id, name),
      body: { ...input, replace },
    }),
  );

export type AppCommand = 'stop' | 'restart';

/** Stop an app, or start it again with the same input; resolves once a stopped one has ended. */
export const stopOrRestartApp = (id: string, name: string, command: AppCommand): Promise<App> =>
  unwrap(
    command === 'stop'
      ? api.DELETE('/api/v1/sessions/{session_id}/apps/{name}', pathOf(id, name))
      : api.POST('/api/v1/sessions/{session_id}/apps/{name}/restart', pathOf(id, name)),
  );

const STATES: Record<App['state'], string> = {
  stopped: t`Not started`,
  starting: t`Starting`,
  running: t`Running`,
  failed: t`Failed`,
};

export const appStateLabel = (state: App['state']): StateLabel => ({
  label: STATES[state],
  tone: STATE_TONES[state],
});
