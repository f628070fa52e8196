import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';
import type { JobRequest, Sizing } from '@/api/types';

type Resources = NonNullable<JobRequest['resources']>;

interface RenderRequest {
  parameters: Record<string, unknown>;
  /** only for templates with several environments */
  environment?: string;
  resources: Resources;
}

/** A template's script, or why a submission would be refused. */
export interface Rendered {
  script: string | null;
  /** the number of array tasks; null if the job is no array */
  tasks: number | null;
  error: ApiError | null;
}

async function render(name: string, body: RenderRequest): Promise<Rendered> {
  const params = { path: { name } };
  try {
    const { script, array } = await unwrap(
      api.POST('/api/v1/templates/{name}/render', { params, body }),
    );
    return { script, tasks: array, error: null };
  } catch (error) {
    // A rejection is an answer, too: the form shows it until the next one.
    if (error instanceof ApiError && error.status === 422)
      return { script: null, tasks: null, error };
    throw error;
  }
}

export const renderQuery = (name: string, values: RenderRequest) =>
  queryOptions({
    queryKey: ['render', name, values],
    queryFn: () => render(name, values),
    retry: false,
    placeholderData: keepPreviousData,
  });

/** The source of past usage: the earlier runs of a job, a template, or custom scripts, which are
 * identified by their jobs' name (`script`). */
export type SizedBy =
  | { job: string }
  | { template: string; environment: string | null }
  | { script: string; environment: string | null };

function fetchSizing(by: SizedBy): Promise<Sizing> {
  if ('job' in by)
    return unwrap(
      api.GET('/api/v1/jobs/{batch_job_id}/sizing', { params: { path: { batch_job_id: by.job } } }),
    );
  const { environment } = by;
  if ('template' in by) {
    const path = { name: by.template };
    return unwrap(
      api.GET('/api/v1/templates/{name}/sizing', { params: { path, query: { environment } } }),
    );
  }
  const query = { name: by.script, environment };
  return unwrap(api.GET('/api/v1/scripts/sizing', { params: { query } }));
}

/** The usage of the last runs of a kind. Not retried: the form works without it. */
export const sizingQuery = (by: SizedBy) =>
  queryOptions({ queryKey: ['sizing', by], queryFn: () => fetchSizing(by), retry: false });
