import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { JobRequest, Sizing } from '@/api/types';

type Resources = NonNullable<JobRequest['resources']>;

interface Rendering {
  parameters: Record<string, unknown>;
  environment: string | undefined;
  resources: Resources;
}

export const renderQuery = (name: string, { parameters, environment, resources }: Rendering) =>
  queryOptions({
    queryKey: ['render', name, parameters, environment, resources],
    queryFn: () =>
      unwrap(
        api.POST('/api/v1/templates/{name}/render', {
          params: { path: { name } },
          body: { parameters, environment, resources },
        }),
      ),
    retry: false,
    placeholderData: keepPreviousData,
  });

/** Which earlier runs are asked for. */
export type SizedBy =
  | { job: string }
  | { template: string; environment: string | null }
  | { script: string; environment: string | null };

function askSizing(by: SizedBy): Promise<Sizing> {
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

/** What the last runs of the kind used. A form can do without. */
export const sizingQuery = (by: SizedBy) =>
  queryOptions({ queryKey: ['sizing', by], queryFn: () => askSizing(by), retry: false });
