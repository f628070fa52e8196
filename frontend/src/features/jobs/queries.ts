import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { operations } from '@/api/schema';
import type { Job } from '@/api/types';
import { jobKey } from '@/lib/queries';
import { filterOf, type JobsSearch, toQuery } from './search';

export const JOBS_KEY = ['jobs'] as const;

/** jobs per request, and the most that can be asked for by id */
const PAGE = 100;

type Query = NonNullable<operations['list_jobs']['parameters']['query']>;

const fetchPage = (query: Query) => unwrap(api.GET('/api/v1/jobs', { params: { query } }));

function listQuery(search: JobsSearch): Query {
  const { order = 'newest', by } = search;
  return { ...toQuery(search), order, ...(by && { by }), limit: PAGE };
}

export const jobsQuery = ({ group: _group, ...search }: JobsSearch) =>
  infiniteQueryOptions({
    queryKey: [...JOBS_KEY, 'pages', search],
    queryFn: ({ pageParam }) => fetchPage({ ...listQuery(search), cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor ?? null,
    staleTime: 0,
    // the stream and useUnstreamedJobs keep the pages up to date
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

/** Fetch these jobs; those that no longer exist are left out. */
export async function fetchJobs(ids: readonly string[]): Promise<Job[]> {
  const found: Job[] = [];
  for (let from = 0; from < ids.length; from += PAGE)
    found.push(...(await fetchPage({ id: ids.slice(from, from + PAGE), limit: PAGE })).items);
  return found;
}

/** Return the first page of a list. */
export const fetchFirstPage = async (search: JobsSearch): Promise<Job[]> =>
  (await fetchPage(listQuery(search))).items;

export const COUNTS_KEY = [...JOBS_KEY, 'count'] as const;

/** A query for the number of jobs in each state that match the other filters. */
export function jobCountsQuery(search: JobsSearch) {
  const { state: _state, ...filter } = filterOf(search);
  return queryOptions({
    queryKey: [...COUNTS_KEY, filter],
    queryFn: async () =>
      (await unwrap(api.GET('/api/v1/jobs/count', { params: { query: toQuery(filter) } })))
        .by_state,
    staleTime: 0,
  });
}

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: jobKey(id),
    queryFn: () =>
      unwrap(api.GET('/api/v1/jobs/{batch_job_id}', { params: { path: { batch_job_id: id } } })),
    staleTime: 0,
  });

const allTemplates = {
  queryKey: ['templates'],
  queryFn: () => unwrap(api.GET('/api/v1/templates')),
};

export const templatesQuery = queryOptions({ ...allTemplates, select: ({ items }) => items });

/** The names of the templates that the user used last. */
export const recentTemplatesQuery = queryOptions({
  ...allTemplates,
  select: ({ recent }) => recent,
});

export const templateQuery = (name: string) =>
  queryOptions({
    queryKey: ['templates', name],
    queryFn: () => unwrap(api.GET('/api/v1/templates/{name}', { params: { path: { name } } })),
  });
