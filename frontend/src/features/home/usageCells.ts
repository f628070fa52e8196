/** The present use of the user, their groups and the cluster. Pure. */
import { t } from '@lingui/core/macro';
import type { components } from '@/api/schema';
import type { Cluster, MyLimits } from '@/api/types';
import { cpuCountText, gpuCountText } from '@/lib/resourceLabels';
import { isClusterKnown } from '@/live/isClusterKnown';

type Use = components['schemas']['UseOut'];

export interface UsageCell {
  key: string;
  name: string;
  /** "2 of 4 GPUs in use" */
  text: string;
  used: number | null;
  /** null without a limit, or while it is unknown */
  total: number | null;
}

/** More would leave no room for the numbers. */
const MAX_GROUPS = 2;

type Resource = 'gpus' | 'cpus';

const amountText = (resource: Resource, count: number): string =>
  resource === 'gpus' ? gpuCountText(count) : cpuCountText(count);

function cellOf(
  key: string,
  name: string,
  resource: Resource,
  used: number | null,
  total: number | null,
): UsageCell {
  const totalText = total === null ? null : amountText(resource, total);
  const text =
    used === null
      ? '–'
      : totalText === null
        ? t`${{ count: amountText(resource, used) }} in use`
        : t`${used} of ${{ of: totalText }} in use`;
  return { key, name, text, used, total };
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Count GPUs, or CPUs on a cluster without GPUs. */
const resourceOf = (cluster: Cluster | null): Resource =>
  cluster !== null && isClusterKnown(cluster) && cluster.gpus.length === 0 ? 'cpus' : 'gpus';

export function clusterCell(cluster: Cluster | null): UsageCell {
  const resource = resourceOf(cluster);
  const name = t`Cluster`;
  if (cluster === null || !isClusterKnown(cluster))
    return cellOf('cluster', name, resource, null, null);
  const parts = resource === 'gpus' ? cluster.gpus : [cluster.cpus];
  const total = parts.reduce((sum, part) => sum + part.total, 0);
  const free = parts.reduce((sum, part) => sum + part.free, 0);
  return cellOf('cluster', name, resource, total - free, total);
}

/** Return the cells of the user and of their first groups. */
export function ownCells(limits: MyLimits, cluster: Cluster | null): UsageCell[] {
  const resource = resourceOf(cluster);
  const { together: groupTotals, group_use: unlimitedGroups } = limits;
  const groups: { group: string; use: Use; total: number | null }[] = [
    ...groupTotals.map(({ group, use, limit }) => ({ group, use, total: limit[resource] })),
    ...unlimitedGroups.map(({ group, use }) => ({ group, use, total: null })),
  ];
  const own = numberOrNull(limits.effective[resource]?.value);
  return [
    cellOf('you', t`You`, resource, limits.use[resource], own),
    ...groups
      .slice(0, MAX_GROUPS)
      .map(({ group, use, total }) =>
        cellOf(`group ${group}`, group, resource, use[resource], total),
      ),
  ];
}
