/** Prediction whether a request would start immediately, from the last cluster snapshot. Pure. */
import { t } from '@lingui/core/macro';
import type { Cluster, ClusterNode, Partition } from '@/api/types';
import { isUsable } from '@/features/cluster/nodes';
import type { Draft } from './requestedResources';

function gpusOf(node: ClusterNode, type: string | null, count: 'total' | 'free'): number {
  const counts = node.gpus.filter((g) => type === null || g.type === type).map((g) => g[count]);
  // Without a type, Slurm allocates GPUs of any type on the node, so they add up.
  return counts.reduce((sum, n) => sum + n, 0);
}

export function findPartition(cluster: Cluster, name: string | null): Partition | undefined {
  return name === null
    ? cluster.partitions.find((p) => p.default)
    : cluster.partitions.find((p) => p.name === name);
}

function nodesOf(cluster: Cluster, partition: Partition): ClusterNode[] {
  return cluster.nodes.filter((n) => partition.nodes.includes(n.name));
}

export const gpuTypesOf = (partition: Partition): string[] =>
  partition.gpus.filter((g) => g.total > 0).map((g) => g.type);

export type Outlook = 'now' | 'wait' | 'down';

/** Return whether a draft would start immediately; `down` if no node that fits it is in service. */
export function outlook(draft: Draft, cluster: Cluster): Outlook {
  const partition = findPartition(cluster, draft.partition);
  if (partition === undefined || !/^up$/i.test(partition.state)) return 'down';
  const gpus = draft.gpus ?? 0;
  const cpus = draft.cpus ?? 1;
  const memory = draft.memory_gb ?? 0;
  const fitting = nodesOf(cluster, partition).filter(
    (n) =>
      isUsable(n) &&
      gpusOf(n, draft.gpu_type, 'total') >= gpus &&
      n.cpus >= cpus &&
      n.memory_gb >= memory,
  );
  if (fitting.length === 0) return 'down';
  const free = fitting.some(
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
