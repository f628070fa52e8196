/** When a request would start. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { JobRequest } from '@/api/types';

type Resources = NonNullable<JobRequest['resources']>;

export interface Forecast {
  resources: Resources;
  template?: string;
  environment?: string;
}

/** The portal keeps an answer for half a minute; asking more often would only be counted. */
const ESTIMATE_FRESH_MS = 25_000;

export const estimateQuery = (body: Forecast) =>
  queryOptions({
    queryKey: ['estimate', body],
    queryFn: () => unwrap(api.POST('/api/v1/estimates', { body })),
    staleTime: ESTIMATE_FRESH_MS,
    retry: false,
    placeholderData: keepPreviousData,
  });
