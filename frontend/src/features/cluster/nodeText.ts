/** Labels of the nodes in the cluster panel. Pure. */
import { t } from '@lingui/core/macro';
import { translateExact } from '@/i18n/translate';
import { memoryText } from '@/lib/sizes';
import type { ClusterNode } from './types';

/** Describe a node: "2 of 8 CPUs and 12 GB free", or why it is out of service. */
export function nodeText(node: ClusterNode): string {
  if (!node.takes_work)
    return (
      translateExact(node.reason) ?? t`out of service (${{ state: node.state.toLowerCase() }})`
    );
  const { cpus_free: free, cpus: total } = node;
  return t`${free} of ${total} CPUs, ${{ memory: memoryText(node.memory_free_gb) }} free`;
}
