/** A job's resources in the form, and which part of a refusal belongs to which field. Pure. */
import { t } from '@lingui/core/macro';
import { ApiError, sentence } from '@/api/problem';
import type { Cluster, Environment, JobRequest, Resources } from '@/api/types';
import {
  checkResources,
  type Draft,
  findPartition,
  gpusOf,
  nodesOf,
  type Problems,
  shapeProblems,
} from '@/features/start/check';
import { toDraft, toResources } from '@/features/start/draft';
import type { NamedResources } from '@/features/start/requestedResources';
import { joinSentences } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { nodesText } from '@/lib/resourceLabels';

/** The draft is of one node; account and QOS are kept from an earlier job. */
export interface JobDraft {
  node: Draft;
  nodes: number | null;
  account: string | null;
  qos: string | null;
}

export interface JobProblems extends Problems {
  nodes?: string;
}

/** Account and QOS only where they were named: what the site gives to everybody isn't asked for. */
export function toJobDraft(
  completed: Resources,
  named: NamedResources,
  cluster: Cluster,
): JobDraft {
  const { nodes } = { ...completed, ...named };
  return {
    node: toDraft(completed, named, cluster),
    nodes: nodes ?? null,
    account: named.account ?? null,
    qos: named.qos ?? null,
  };
}

/** All fields side by side, as they are asked for. */
export const toNamed = ({ node, ...others }: JobDraft): NamedResources => ({ ...node, ...others });

/** Whether each field is right by itself, whatever the cluster has. */
export function isWellFormed({ node, nodes }: JobDraft): boolean {
  const counted = nodes !== null && Number.isInteger(nodes) && nodes >= 1;
  return counted && Object.keys(shapeProblems(node)).length === 0;
}

export function toJobResources({ node, nodes, account, qos }: JobDraft) {
  return { ...toResources(node), nodes, account, qos } satisfies JobRequest['resources'];
}

function nodesProblem({ node, nodes }: JobDraft, cluster: Cluster): string | null {
  if (nodes === null || !Number.isInteger(nodes) || nodes < 1)
    return t`Enter a whole number of nodes, at least 1.`;
  const partition = findPartition(cluster, node.partition);
  if (partition === undefined || nodes === 1) return null;
  const able = nodesOf(cluster, partition).filter(
    (n) =>
      gpusOf(n, node.gpu_type, 'total') >= (node.gpus ?? 0) &&
      n.cpus >= (node.cpus ?? 1) &&
      n.memory_gb >= (node.memory_gb ?? 0),
  ).length;
  if (able >= nodes) return null;
  const { name } = partition;
  return t`${name} has only ${{ nodes: nodesText(able) }} with enough resources.`;
}

export function checkJob(
  draft: JobDraft,
  cluster: Cluster,
  environment: Pick<Environment, 'title' | 'gpu'> | undefined,
): JobProblems {
  const problems: JobProblems = checkResources(draft.node, cluster, environment);
  if (Object.keys(problems).length > 0) return problems;
  const nodes = nodesProblem(draft, cluster);
  return nodes === null ? {} : { nodes };
}

export interface Refusal {
  parameters: Record<string, string>;
  resources: JobProblems;
  /** of the other fields by name: script, name, logdir, environment */
  others: Record<string, string>;
  /** what no field of the form can show */
  general: string | null;
}

export const NO_REFUSAL: Refusal = { parameters: {}, resources: {}, others: {}, general: null };

/** Sorts a refusal's messages to their fields; `known` are the form's own fields outside
 * parameters and resources, `parameters` those of the template. */
export function refusalOf(
  error: unknown,
  parameters: readonly string[],
  known: readonly string[],
): Refusal {
  if (!(error instanceof ApiError)) return { ...NO_REFUSAL, general: sentence(error) };
  const refusal = { parameters: {}, resources: {}, others: {} } as Refusal;
  const lost: string[] = [];
  for (const { field, message: text } of error.fields) {
    const message = translate(text);
    const [head = '', name = ''] = field.split('.');
    if (head === 'parameters' && parameters.includes(name)) refusal.parameters[name] ??= message;
    else if (head === 'resources' && name !== '')
      refusal.resources = { [name]: message, ...refusal.resources };
    else if (known.includes(field)) refusal.others[field] ??= message;
    else lost.push(message);
  }
  const placed = error.fields.length > 0 && lost.length === 0;
  return {
    ...refusal,
    general: placed ? null : lost.length > 0 ? joinSentences(lost) : translate(error.message),
  };
}
