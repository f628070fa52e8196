/** Start estimates of resource requests. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { JobRequest } from '@/api/types';

type Resources = NonNullable<JobRequest['resources']>;

export interface EstimateRequest {
  resources: Resources;
  template?: string;
  environment?: string;
}

/** The portal caches an estimate for 30 s; earlier requests only count against the rate limit. */
const ESTIMATE_FRESH_MS = 25_000;

export const estimateQuery = (body: EstimateRequest) =>
  queryOptions({
    queryKey: ['estimate', body],
    queryFn: () => unwrap(api.POST('/api/v1/estimates', { body })),
    staleTime: ESTIMATE_FRESH_MS,
    retry: false,
    placeholderData: keepPreviousData,
  });

interface ChoicesRequest {
  choices: Resources[];
  template?: string;
  environment?: string;
}

/** Estimates of several resource choices, in their order; null where Slurm has none. */
export const choicesQuery = (body: ChoicesRequest) =>
  queryOptions({
    queryKey: ['estimate', 'choices', body],
    queryFn: () => unwrap(api.POST('/api/v1/estimates/choices', { body })),
    staleTime: ESTIMATE_FRESH_MS,
    retry: false,
    placeholderData: keepPreviousData,
  });
