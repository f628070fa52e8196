/**
 * Checks a request against the last known state of the cluster while the user types, and whether it
 * would start at once. Pure. The portal and Slurm decide in the end; this only spares users a
 * foreseeable refusal.
 */
import { plural, t } from '@lingui/core/macro';
import type { Cluster, ClusterNode, Environment, Partition } from '@/api/types';
import { isUsable } from '@/features/cluster/nodes';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { cpusText, gpusText, memoryText } from '@/lib/resourceLabels';
import { minutesAsTime } from '@/lib/time';

/** Numbers are null while their field is empty. */
export interface Draft {
  partition: string | null;
  gpus: number | null;
  gpu_type: string | null;
  cpus: number | null;
  memory_gb: number | null;
  time_limit_minutes: number | null;
}

export type Problems = Partial<Record<keyof Draft, string>>;

export function gpusOf(node: ClusterNode, type: string | null, what: 'total' | 'free'): number {
  const counts = node.gpus.filter((g) => type === null || g.type === type).map((g) => g[what]);
  // Without a type Slurm still gives GPUs of any type on the node, so they add up.
  return counts.reduce((sum, n) => sum + n, 0);
}

export function findPartition(cluster: Cluster, name: string | null): Partition | undefined {
  return name === null
    ? cluster.partitions.find((p) => p.default)
    : cluster.partitions.find((p) => p.name === name);
}

export function nodesOf(cluster: Cluster, partition: Partition): ClusterNode[] {
  return cluster.nodes.filter((n) => partition.nodes.includes(n.name));
}

export const gpuTypesOf = (partition: Partition): string[] =>
  partition.gpus.filter((g) => g.total > 0).map((g) => g.type);

const isWhole = (n: number): boolean => Number.isInteger(n);
const most = (nodes: readonly ClusterNode[], value: (n: ClusterNode) => number): number =>
  Math.max(0, ...nodes.map(value));

/** Fields that are wrong by themselves, whatever the cluster. */
export function shapeProblems(draft: Draft): Problems {
  const problems: Problems = {};
  if (draft.gpus === null || draft.gpus < 0 || !isWhole(draft.gpus))
    problems.gpus = t`Enter a whole number of GPUs, or 0 for none.`;
  if (draft.cpus === null || draft.cpus < 1 || !isWhole(draft.cpus))
    problems.cpus = t`Enter a whole number of CPUs, at least 1.`;
  if (draft.memory_gb === null || draft.memory_gb <= 0)
    problems.memory_gb = t`Enter the memory in GB, more than 0.`;
  if (draft.time_limit_minutes === null || draft.time_limit_minutes < 1)
    problems.time_limit_minutes = t`Enter the number of hours, more than 0.`;
  return problems;
}

/** Names the partitions that have what this one lacks. */
function noGpusText(name: string, cluster: Cluster): string {
  const others = cluster.partitions.filter((one) => gpuTypesOf(one).length > 0);
  if (others.length === 0) return t`The nodes of ${name} have no GPUs.`;
  const partitions = joinWithCommas(others.map((one) => one.name));
  return t`The nodes of ${name} have no GPUs. Choose a partition that has: ${partitions}.`;
}

function gpuProblem(draft: Draft, partition: Partition, cluster: Cluster): Problems {
  const nodes = nodesOf(cluster, partition);
  const { gpus, gpu_type: type } = draft;
  if (gpus === null || gpus < 1) return {};
  const types = gpuTypesOf(partition);
  const { name } = partition;
  if (types.length === 0) return { gpus: noGpusText(name, cluster) };
  if (type !== null && !types.includes(type))
    return { gpu_type: t`${name} has no ${type}; it has ${{ types: joinWithCommas(types) }}.` };
  const largest = most(nodes, (n) => gpusOf(n, type, 'total'));
  if (gpus <= largest) return {};
  const held =
    type === null
      ? gpusText(largest)
      : plural(largest, { one: `# ${type} GPU`, other: `# ${type} GPUs` });
  return { gpus: t`No node of ${name} has more than ${{ gpus: held }}.` };
}

/** Nodes that could hold the request when empty; says which field rules the last of them out. */
function fitProblems(draft: Draft, nodes: ClusterNode[]): Problems {
  const gpus = draft.gpus ?? 0;
  const cpus = draft.cpus ?? 1;
  const memory = draft.memory_gb ?? 0;
  const withGpus = nodes.filter((n) => gpusOf(n, draft.gpu_type, 'total') >= gpus);
  const hasAtMost = (most: string): string =>
    gpus > 0
      ? t`A node with ${{ gpus: gpusText(gpus) }} has at most ${most}.`
      : t`A node has at most ${most}.`;
  const withCpus = withGpus.filter((n) => n.cpus >= cpus);
  if (withCpus.length === 0) return { cpus: hasAtMost(cpusText(most(withGpus, (n) => n.cpus))) };
  const withMemory = withCpus.filter((n) => n.memory_gb >= memory);
  if (withMemory.length === 0)
    return { memory_gb: hasAtMost(memoryText(most(withCpus, (n) => n.memory_gb))) };
  return {};
}

function timeProblem(draft: Draft, partition: Partition): Problems {
  const { time_limit_minutes: minutes } = draft;
  const limit = partition.max_time_minutes;
  if (minutes === null || limit === null || minutes <= limit) return {};
  const { name } = partition;
  return { time_limit_minutes: t`${name} allows at most ${{ time: minutesAsTime(limit) }}.` };
}

export function checkResources(
  draft: Draft,
  cluster: Cluster,
  environment: Pick<Environment, 'title' | 'gpu'> | undefined,
): Problems {
  const shape = shapeProblems(draft);
  const partition = findPartition(cluster, draft.partition);
  if (partition === undefined) return { ...shape, partition: t`Choose a partition.` };
  if (!/^up$/i.test(partition.state))
    shape.partition = t`${{ name: partition.name }} does not accept jobs now (state: ${{ state: partition.state.toLowerCase() }}).`;
  if (environment?.gpu === 'required' && draft.gpus === 0)
    shape.gpus = t`${{ title: translateExact(environment.title) }} needs at least one GPU.`;
  const nodes = nodesOf(cluster, partition);
  const time = timeProblem(draft, partition);
  const gpu = gpuProblem(draft, partition, cluster);
  const fit = Object.keys(gpu).length > 0 ? {} : fitProblems(draft, nodes);
  return { ...time, ...fit, ...gpu, ...shape };
}

export type Outlook = 'now' | 'wait' | 'down';

/** Would it start at once? `down`: no node that could hold it is in service. */
export function outlook(draft: Draft, cluster: Cluster): Outlook {
  const partition = findPartition(cluster, draft.partition);
  if (partition === undefined) return 'down';
  const gpus = draft.gpus ?? 0;
  const cpus = draft.cpus ?? 1;
  const memory = draft.memory_gb ?? 0;
  const able = nodesOf(cluster, partition).filter(
    (n) =>
      isUsable(n) &&
      gpusOf(n, draft.gpu_type, 'total') >= gpus &&
      n.cpus >= cpus &&
      n.memory_gb >= memory,
  );
  if (able.length === 0) return 'down';
  const free = able.some(
    (n) =>
      gpusOf(n, draft.gpu_type, 'free') >= gpus &&
      n.cpus_free >= cpus &&
      n.memory_free_gb >= memory,
  );
  return free ? 'now' : 'wait';
}

export const OUTLOOK_TEXT: Record<Outlook, string> = {
  now: t`A node has these resources free now: it should start immediately.`,
  wait: t`No node has all of these resources free now: it will wait in the queue.`,
  down: t`No node in service is large enough now: it will wait until one is back.`,
};

const NAME = /^[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,29}$/;

/** null: the name is fine, or empty, which lets the portal choose one. */
export function nameProblem(name: string, taken: readonly string[]): string | null {
  if (name === '') return null;
  if (taken.includes(name)) return t`You already have a session called ${name}.`;
  if (NAME.test(name)) return null;
  if (name.length > 30) return t`At most 30 characters.`;
  return t`Use lowercase letters, digits and single hyphens, starting with a letter: my-model-2.`;
}
