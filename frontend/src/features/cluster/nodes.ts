/** The order and labels of nodes. Pure. */
import { t } from '@lingui/core/macro';
import type { Cluster, ClusterNode } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { memoryText } from '@/lib/sizes';

const UNUSABLE = /down|drain|fail|maint|not_respond|no_respond|power|unknown|reboot|reserv/i;

/** Return whether Slurm can place work on this node. */
export const isUsable = (node: Pick<ClusterNode, 'state'>): boolean => !UNUSABLE.test(node.state);

/** Return whether the portal has read the cluster's state from Slurm since it started. */
export const isKnown = (cluster: Cluster): boolean => cluster.at !== null;

const BY_NAME = new Intl.Collator('en', { numeric: true });

/** Sort by name, node2 before node10. */
export function inNodeOrder(nodes: readonly ClusterNode[]): ClusterNode[] {
  return [...nodes].sort((a, b) => BY_NAME.compare(a.name, b.name));
}

/** Describe a node: "2 of 8 CPUs and 12 GB free", or why it is out of service. */
export function nodeText(node: ClusterNode): string {
  if (!isUsable(node))
    return (
      translateExact(node.reason) ?? t`out of service (${{ state: node.state.toLowerCase() }})`
    );
  const { cpus_free: free, cpus: total } = node;
  return t`${free} of ${total} CPUs, ${{ memory: memoryText(node.memory_free_gb) }} free`;
}
