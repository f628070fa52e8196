/** Queries of a session's page, in addition to the event stream. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

/** The node's measuring interval. */
export const MEASURE_EVERY_MS = 10_000;

/** A query for a session that ended too long ago for the event stream. */
export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id],
    queryFn: () =>
      unwrap(api.GET('/api/v1/sessions/{session_id}', { params: { path: { session_id: id } } })),
  });

export const sessionUsageQuery = (id: string) =>
  queryOptions({
    queryKey: ['session-use', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/sessions/{session_id}/use', { params: { path: { session_id: id } } }),
      ),
    staleTime: MEASURE_EVERY_MS / 2,
  });

/** The setup of SSH connections to a running session; its server is asked each time. */
export const sshQuery = (id: string) =>
  queryOptions({
    queryKey: ['session-ssh', id],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/sessions/{session_id}/ssh', { params: { path: { session_id: id } } }),
      ),
    staleTime: 0,
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

export const removePackage = (environment: string, name: string) =>
  unwrap(
    api.POST('/api/v1/environments/{name}/packages/remove', {
      params: { path: { name: environment } },
      body: { package: name },
    }),
  );

export const restorePackages = (environment: string, id: string) =>
  unwrap(
    api.POST('/api/v1/environments/{name}/packages/restore', {
      params: { path: { name: environment } },
      body: { id },
    }),
  );
