/** A job's resources in the form, and the mapping of errors to fields. Pure. */
import { ApiError, errorMessage } from '@/api/problem';
import type { Cluster, JobRequest, ResolvedResources } from '@/api/types';
import type {
  ExplicitResources,
  ResourceErrors,
  ResourceFormValues,
} from '@/features/resources/requestedResources';
import { RESOURCE_FIELDS } from '@/features/resources/resourceErrors';
import { toResources, toValues } from '@/features/resources/values';
import { joinSentences } from '@/i18n/lists';
import { translate } from '@/i18n/translate';

/** The resources of each node, and the job's others; account and QOS are those of an earlier job. */
export interface JobResourceFormValues {
  node: ResourceFormValues;
  nodes: number | null;
  account: string | null;
  qos: string | null;
}

/** Return the form's values. They have account and QOS only if they are explicit, not the site's defaults. */
export function toJobValues(
  completed: ResolvedResources,
  explicit: ExplicitResources,
  cluster: Cluster,
): JobResourceFormValues {
  const { nodes } = { ...completed, ...explicit };
  return {
    node: toValues(completed, explicit, cluster),
    nodes: nodes ?? null,
    account: explicit.account ?? null,
    qos: explicit.qos ?? null,
  };
}

/** Return all fields in one object, as the API names them. */
export const flattenValues = ({ node, ...others }: JobResourceFormValues): ExplicitResources => ({
  ...node,
  ...others,
});

export function toJobResources({ node, nodes, account, qos }: JobResourceFormValues) {
  return { ...toResources(node), nodes, account, qos } satisfies JobRequest['resources'];
}

export interface SubmitErrors {
  parameters: Record<string, string>;
  resources: ResourceErrors;
  /** errors of the other fields by name: script, name, logdir, environment */
  others: Record<string, string>;
  /** the errors without a field in the form */
  general: string | null;
}

export const NO_ERRORS: SubmitErrors = { parameters: {}, resources: {}, others: {}, general: null };

/** Assign an error's messages to their fields: `parameters` of the template, and `others`, the
 * form's fields besides parameters and resources. */
export function assignErrors(
  error: unknown,
  parameters: readonly string[],
  others: readonly string[],
): SubmitErrors {
  if (!(error instanceof ApiError)) return { ...NO_ERRORS, general: errorMessage(error) };
  const errors = { parameters: {}, resources: {}, others: {} } as SubmitErrors;
  const unassigned: string[] = [];
  for (const { field, message: text } of error.fields) {
    const message = translate(text);
    const [group = '', name = ''] = field.split('.');
    if (group === 'parameters' && parameters.includes(name)) errors.parameters[name] ??= message;
    else if (group === 'resources' && RESOURCE_FIELDS.some((known) => known === name))
      errors.resources = { [name]: message, ...errors.resources };
    else if (others.includes(field)) errors.others[field] ??= message;
    else unassigned.push(message);
  }
  const allAssigned = error.fields.length > 0 && unassigned.length === 0;
  const message = unassigned.length > 0 ? joinSentences(unassigned) : translate(error.message);
  return { ...errors, general: allAssigned ? null : message };
}
