import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { jobKey } from '@/lib/queries';
import { type JobsSearch, toQuery } from './search';

export const JOBS_KEY = ['jobs'] as const;

export const jobsQuery = (search: JobsSearch) =>
  infiniteQueryOptions({
    queryKey: [...JOBS_KEY, 'pages', search],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET('/api/v1/jobs', {
          params: {
            query: { ...toQuery(search), order: search.order ?? 'newest', cursor: pageParam },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    staleTime: 0,
  });

/** How many jobs the filters let through, in whatever order. */
export const jobCountQuery = ({ order: _order, ...search }: JobsSearch) =>
  queryOptions({
    queryKey: [...JOBS_KEY, 'count', search],
    queryFn: async () =>
      (await unwrap(api.GET('/api/v1/jobs/count', { params: { query: toQuery(search) } }))).count,
    staleTime: 0,
  });

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: jobKey(id),
    queryFn: () =>
      unwrap(api.GET('/api/v1/jobs/{batch_job_id}', { params: { path: { batch_job_id: id } } })),
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
