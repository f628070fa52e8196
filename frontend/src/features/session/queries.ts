/** What the page of a session asks beside the live connection. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

/** How often the node measures. */
export const LOOK_EVERY_MS = 10_000;

/** One that isn't among those the live connection tells of: it has ended long ago. */
export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id],
    queryFn: () =>
      unwrap(api.GET('/api/v1/sessions/{session_id}', { params: { path: { session_id: id } } })),
  });

export const sessionUseQuery = (id: string) =>
  queryOptions({
    queryKey: ['session-use', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/sessions/{session_id}/use', { params: { path: { session_id: id } } }),
      ),
    staleTime: LOOK_EVERY_MS / 2,
  });

export const packagesQuery = (environment: string) =>
  queryOptions({
    queryKey: ['packages', environment],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/environments/{name}/packages', {
          params: { path: { name: environment } },
        }),
      ),
    staleTime: 0,
    retry: false,
  });

export const resetPackages = (environment: string) =>
  unwrap(
    api.POST('/api/v1/environments/{name}/packages/reset', {
      params: { path: { name: environment } },
    }),
  );

export const bringBack = (environment: string, id: string) =>
  unwrap(
    api.POST('/api/v1/environments/{name}/packages/restore', {
      params: { path: { name: environment } },
      body: { id },
    }),
  );
