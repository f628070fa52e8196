/** The expected wait of each of a form's choices. Pure. */
import { t } from '@lingui/core/macro';
import type { ChoiceEstimate, Cluster, Partition } from '@/api/types';
import { duration } from '@/lib/time';
import { gpuTypesOf, outlook } from './outlook';
import type { Draft } from './requestedResources';

/** The portal's limit for one request. */
const MAX_CHOICES = 8;
const IMMEDIATE_S = 60;

/** Return the draft in another partition, with any type of GPU where that has not the chosen one. */
export function inPartition(draft: Draft, partition: Partition): Draft {
  const hasType = draft.gpu_type === null || gpuTypesOf(partition).includes(draft.gpu_type);
  return { ...draft, partition: partition.name, gpu_type: hasType ? draft.gpu_type : null };
}

/** Return the drafts that Slurm is asked about: those that don't start immediately. */
export const choicesToAsk = (drafts: readonly Draft[], cluster: Cluster): Draft[] =>
  cluster.stale_since !== null
    ? []
    : drafts.filter((draft) => outlook(draft, cluster) !== 'now').slice(0, MAX_CHOICES);

/** Return a text for each draft. `estimates` are those of `choicesToAsk`; undefined until they have
 * arrived. */
export function waitTexts(
  drafts: readonly Draft[],
  cluster: Cluster,
  estimates: readonly ChoiceEstimate[] | undefined,
): string[] {
  const asked = choicesToAsk(drafts, cluster);
  return drafts.map((draft) => {
    const index = asked.indexOf(draft);
    if (index < 0 && cluster.stale_since === null && outlook(draft, cluster) === 'now')
      return t`Expected wait: none`;
    if (index >= 0 && estimates === undefined) return t`Expected wait: …`;
    const seconds = estimates?.[index]?.seconds ?? null;
    if (seconds === null) return t`Expected wait: unknown`;
    if (seconds < IMMEDIATE_S) return t`Expected wait: none`;
    return t`Expected wait: ${{ span: duration(seconds * 1000) }}`;
  });
}
