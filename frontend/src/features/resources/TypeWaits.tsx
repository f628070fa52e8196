import { t } from '@lingui/core/macro';
import type { Cluster } from '@/api/types';
import { findPartition, gpuTypesOf } from './outlook';
import type { ResourceFormValues } from './requestedResources';
import type { Purpose } from './resolveResources';
import { useWaitTexts } from './useWaitTexts';
import { WaitList } from './WaitList';

interface Props {
  cluster: Cluster;
  values: ResourceFormValues;
  purpose: Purpose | undefined;
}

/** The expected wait for each GPU type of the partition, if there is a choice. */
export function TypeWaits({ cluster, values, purpose }: Props) {
  const partition = findPartition(cluster, values.partition);
  const types = partition && values.gpus ? gpuTypesOf(partition) : [];
  const choices = types.length > 1 ? [null, ...types] : [];
  const waitTexts = useWaitTexts(
    choices.map((type) => ({ ...values, gpu_type: type })),
    cluster,
    purpose,
  );
  const items = choices.map((type, index) => [type ?? t`Any type`, waitTexts[index]] as const);
  return <WaitList label={t`Expected waits by GPU type`} items={items} />;
}
