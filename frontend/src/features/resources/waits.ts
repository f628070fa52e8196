/** The expected wait of each of a form's choices. Pure. */
import { t } from '@lingui/core/macro';
import type { ChoiceEstimate, Cluster, Partition } from '@/api/types';
import { duration } from '@/lib/time';
import { gpuTypesOf, outlook } from './outlook';
import type { ResourceFormValues } from './requestedResources';

/** The portal's limit for one request. */
const MAX_CHOICES = 8;
const IMMEDIATE_S = 60;

/** Return the values in another partition, with any type of GPU if that one lacks the chosen type. */
export function inPartition(values: ResourceFormValues, partition: Partition): ResourceFormValues {
  const hasType = values.gpu_type === null || gpuTypesOf(partition).includes(values.gpu_type);
  return { ...values, partition: partition.name, gpu_type: hasType ? values.gpu_type : null };
}

/** Return the choices that Slurm has to estimate: those that don't start immediately. */
export const choicesToAsk = (
  choices: readonly ResourceFormValues[],
  cluster: Cluster,
): ResourceFormValues[] =>
  cluster.stale_since !== null
    ? []
    : choices.filter((values) => outlook(values, cluster) !== 'now').slice(0, MAX_CHOICES);

/** Return a text for each choice. `estimates` are those of `choicesToAsk`; undefined until they have
 * arrived. */
export function waitTexts(
  choices: readonly ResourceFormValues[],
  cluster: Cluster,
  estimates: readonly ChoiceEstimate[] | undefined,
): string[] {
  const asked = choicesToAsk(choices, cluster);
  return choices.map((values) => {
    const index = asked.indexOf(values);
    if (index < 0 && cluster.stale_since === null && outlook(values, cluster) === 'now')
      return t`Expected wait: none`;
    if (index >= 0 && estimates === undefined) return t`Expected wait: …`;
    const seconds = estimates?.[index]?.seconds ?? null;
    if (seconds === null) return t`Expected wait: unknown`;
    if (seconds < IMMEDIATE_S) return t`Expected wait: none`;
    return t`Expected wait: ${{ span: duration(seconds * 1000) }}`;
  });
}
