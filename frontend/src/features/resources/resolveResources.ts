/** A form's resource requests, which the portal fills in and validates as at submission. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { FieldError } from '@/api/problem';
import type { ResolvedResources } from '@/api/types';
import type { ExplicitResources } from './requestedResources';

/** The template or environment that resources are for. Sessions and scripts have an environment. */
export interface Purpose {
  template?: string;
  environment?: string;
}

export interface ResolvedRequest {
  requested: ExplicitResources;
  resources: ResolvedResources;
  /** why a submission would be refused */
  errors: readonly FieldError[];
}

export interface ResolvedRequests {
  items: ResolvedRequest[];
  /** errors of other fields than the resources */
  errors: readonly FieldError[];
}

const FRESH_MS = 30_000;

export const resolvedResourcesQuery = (
  purpose: Purpose,
  requests: readonly ExplicitResources[],
  sessionName: string | null = null,
) =>
  queryOptions({
    queryKey: ['resources', purpose, requests, sessionName],
    queryFn: async (): Promise<ResolvedRequests> => {
      const body = { ...purpose, session_name: sessionName, requests: [...requests] };
      const { items, errors } = await unwrap(api.POST('/api/v1/resources', { body }));
      const completed = items.map(({ errors, ...resources }, index) => ({
        requested: requests[index] ?? {},
        resources,
        errors,
      }));
      return { items: completed, errors };
    },
    staleTime: FRESH_MS,
    // Limits and the cluster change while a form is open.
    refetchInterval: FRESH_MS,
    retry: false,
    placeholderData: keepPreviousData,
  });
