import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { JobFilter } from './list';

export const JOBS_KEY = ['jobs'] as const;

export const jobsQuery = ({ state, text }: JobFilter) =>
  infiniteQueryOptions({
    queryKey: [...JOBS_KEY, state, text],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET('/api/v1/jobs', {
          params: { query: { state, q: text || null, cursor: pageParam } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    staleTime: 0,
  });

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ['job', id],
    queryFn: () => unwrap(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: id } } })),
    staleTime: 0,
  });

export const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/templates'))).items,
});

export const templateQuery = (name: string) =>
  queryOptions({
    queryKey: ['templates', name],
    queryFn: () => unwrap(api.GET('/api/v1/templates/{name}', { params: { path: { name } } })),
  });
