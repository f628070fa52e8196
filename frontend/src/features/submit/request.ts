/** A job's resources in the form, and the mapping of refusals to fields. Pure. */
import { ApiError, errorMessage } from '@/api/problem';
import type { Cluster, JobRequest, Resources } from '@/api/types';
import { toDraft, toResources } from '@/features/start/draft';
import { RESOURCE_FIELDS } from '@/features/start/refusal';
import type { Draft, ExplicitResources, Problems } from '@/features/start/requestedResources';
import { joinSentences } from '@/i18n/lists';
import { translate } from '@/i18n/translate';

/** The resources of each node, and the job's others; account and QOS are those of an earlier job. */
export interface JobDraft {
  node: Draft;
  nodes: number | null;
  account: string | null;
  qos: string | null;
}

/** Return the draft. It has account and QOS only if they are explicit, not the site's defaults. */
export function toJobDraft(
  completed: Resources,
  explicit: ExplicitResources,
  cluster: Cluster,
): JobDraft {
  const { nodes } = { ...completed, ...explicit };
  return {
    node: toDraft(completed, explicit, cluster),
    nodes: nodes ?? null,
    account: explicit.account ?? null,
    qos: explicit.qos ?? null,
  };
}

/** Return all fields of a draft in one object, as the API names them. */
export const flattenDraft = ({ node, ...others }: JobDraft): ExplicitResources => ({
  ...node,
  ...others,
});

export function toJobResources({ node, nodes, account, qos }: JobDraft) {
  return { ...toResources(node), nodes, account, qos } satisfies JobRequest['resources'];
}

export interface Refusal {
  parameters: Record<string, string>;
  resources: Problems;
  /** errors of the other fields by name: script, name, logdir, environment */
  others: Record<string, string>;
  /** the errors without a field in the form */
  general: string | null;
}

export const NO_REFUSAL: Refusal = { parameters: {}, resources: {}, others: {}, general: null };

/** Assign a refusal's messages to their fields: `parameters` of the template, and `others`, the
 * form's fields besides parameters and resources. */
export function refusalOf(
  error: unknown,
  parameters: readonly string[],
  others: readonly string[],
): Refusal {
  if (!(error instanceof ApiError)) return { ...NO_REFUSAL, general: errorMessage(error) };
  const refusal = { parameters: {}, resources: {}, others: {} } as Refusal;
  const unassigned: string[] = [];
  for (const { field, message: text } of error.fields) {
    const message = translate(text);
    const [group = '', name = ''] = field.split('.');
    if (group === 'parameters' && parameters.includes(name)) refusal.parameters[name] ??= message;
    else if (group === 'resources' && RESOURCE_FIELDS.some((known) => known === name))
      refusal.resources = { [name]: message, ...refusal.resources };
    else if (others.includes(field)) refusal.others[field] ??= message;
    else unassigned.push(message);
  }
  const allAssigned = error.fields.length > 0 && unassigned.length === 0;
  const message = unassigned.length > 0 ? joinSentences(unassigned) : translate(error.message);
  return { ...refusal, general: allAssigned ? null : message };
}
