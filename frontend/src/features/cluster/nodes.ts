/** How nodes are listed. Pure. */
import { t } from '@lingui/core/macro';
import type { Cluster, ClusterNode } from '@/api/types';
import { memoryText } from '@/features/sessions/words';
import { isUsable } from '@/features/start/check';
import { written } from '@/i18n/said';

/** Whether Slurm has told anything yet since the portal started. */
export const isKnown = (cluster: Cluster): boolean => cluster.at !== null;

const BY_NAME = new Intl.Collator('en', { numeric: true });

/** node2 before node10. */
export function inNodeOrder(nodes: readonly ClusterNode[]): ClusterNode[] {
  return [...nodes].sort((a, b) => BY_NAME.compare(a.name, b.name));
}

/** "2 of 8 CPUs and 12 GB free", or why the node is out of service. */
export function nodeText(node: ClusterNode): string {
  if (!isUsable(node))
    return written(node.reason) ?? t`out of service (${{ state: node.state.toLowerCase() }})`;
  const { cpus_free: free, cpus: total } = node;
  return t`${free} of ${total} CPUs, ${{ memory: memoryText(node.memory_free_gb) }} free`;
}
