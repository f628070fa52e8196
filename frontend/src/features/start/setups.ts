/** Setups: saved and recently used session configurations. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { ResourceRequest, Session, SessionRequest, Setup, UsedSetup } from '@/api/types';
import { SESSION_FIELDS } from '@/features/resources/resourceErrors';
import { isOver } from '@/features/sessions/actions';
import { sendOnce } from '@/lib/idempotency';
import { queryClient } from '@/lib/queries';
import { liveStore } from '@/live/store';

const KEY = ['setups'];
export const setupsQuery = queryOptions({
  queryKey: [...KEY, 'saved'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/setups'))).items,
});

export const recentSetupsQuery = queryOptions({
  queryKey: [...KEY, 'recent'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/setups/recent'))).items,
});

export const setupsChanged = (): Promise<void> => queryClient.invalidateQueries({ queryKey: KEY });

interface SavedSetup {
  name: string;
  environment: string;
  resources: NonNullable<SessionRequest['resources']>;
}

export async function saveSetup(body: SavedSetup): Promise<Setup> {
  const saved = await unwrap(api.POST('/api/v1/setups', { body }));
  await setupsChanged();
  return saved;
}

export async function renameSetup(id: string, name: string): Promise<void> {
  await unwrap(
    api.PATCH('/api/v1/setups/{setup_id}', { params: { path: { setup_id: id } }, body: { name } }),
  );
  await setupsChanged();
}

export async function deleteSetup(id: string): Promise<void> {
  await unwrap(api.DELETE('/api/v1/setups/{setup_id}', { params: { path: { setup_id: id } } }));
  await setupsChanged();
}

function sendStart(path: { setup_id: string }, key: string): Promise<Session> {
  const params = { path, header: { 'idempotency-key': key } };
  return unwrap(api.POST('/api/v1/setups/{setup_id}/start', { params }));
}

export async function startSetup(id: string): Promise<Session> {
  const session = await sendOnce(['setup', id], () => ({ setup_id: id }), sendStart, { isOver });
  liveStore.sessionAnswered(session);
  void setupsChanged();
  return session;
}

const sameResources = (a: ResourceRequest, b: ResourceRequest): boolean =>
  SESSION_FIELDS.every((key) => (a[key] ?? null) === (b[key] ?? null));

/** Return the used setups that are not saved. */
export function unsavedSetups(used: readonly UsedSetup[], saved: readonly Setup[]): UsedSetup[] {
  return used.filter(
    ({ environment, resources }) =>
      !saved.some(
        (setup) => setup.environment === environment && sameResources(setup.resources, resources),
      ),
  );
}
