/** Predicts whether a request would start immediately, from the last cluster snapshot. Pure. */
import { t } from '@lingui/core/macro';
import type { Cluster, Partition } from '@/api/types';
import type { ResourceFormValues } from './requestedResources';

/** `largest`: sizes of the largest nodes that accept jobs; `largest_free`: of the largest free parts of
 * nodes. A request fits if it fits into any one. */
type Size = Partition['largest'][number];

function gpusOf({ gpus }: Size, type: string | null): number {
  if (type !== null) return gpus[type] ?? 0;
  // Without a type, Slurm allocates GPUs of any type on the node, so they add up.
  return Object.values(gpus).reduce((sum, count) => sum + count, 0);
}

const fits = ({ gpus, gpu_type, cpus, memory_gb }: ResourceFormValues, size: Size): boolean =>
  gpusOf(size, gpu_type) >= (gpus ?? 0) &&
  size.cpus >= (cpus ?? 1) &&
  size.memory_gb >= (memory_gb ?? 0);

export function findPartition(cluster: Cluster, name: string | null): Partition | undefined {
  return name === null
    ? cluster.partitions.find((p) => p.default)
    : cluster.partitions.find((p) => p.name === name);
}

export const gpuTypesOf = (partition: Partition): string[] =>
  partition.gpus.filter((g) => g.total > 0).map((g) => g.type);

export type Outlook = 'now' | 'wait' | 'down';

/** Return whether a request would start immediately; `down` if the partition is not up or no node in
 * service is large enough. */
export function outlook(values: ResourceFormValues, cluster: Cluster): Outlook {
  const partition = findPartition(cluster, values.partition);
  if (partition === undefined || !/^up$/i.test(partition.state)) return 'down';
  if (!partition.largest.some((size) => fits(values, size))) return 'down';
  return partition.largest_free.some((size) => fits(values, size)) ? 'now' : 'wait';
}

export const OUTLOOK_TEXT: Record<Outlook, string> = {
  now: t`A node has these resources free now: it should start immediately.`,
  wait: t`No node has all of these resources free now: it will wait in the queue.`,
  down: t`No node in service is large enough now: it will wait until one is back.`,
};
