import { t } from '@lingui/core/macro';
import type { Cluster } from '@/api/types';
import { gpuTypesOf } from './outlook';
import type { ResourceFormValues } from './requestedResources';
import type { Purpose } from './resolveResources';
import { useWaitTexts } from './useWaitTexts';
import { WaitList } from './WaitList';
import { inPartition } from './waits';

interface Props {
  cluster: Cluster;
  values: ResourceFormValues;
  purpose: Purpose | undefined;
}

/** The expected wait for the same resources in each partition, if there is a choice. */
export function PartitionWaits({ cluster, values, purpose }: Props) {
  const fitting = cluster.partitions.filter((each) => !values.gpus || gpuTypesOf(each).length > 0);
  const choices = fitting.length > 1 ? fitting : [];
  const waitTexts = useWaitTexts(
    choices.map((partition) => inPartition(values, partition)),
    cluster,
    purpose,
  );
  const items = choices.map(({ name }, index) => [name, waitTexts[index]] as const);
  return <WaitList label={t`Expected waits by partition`} items={items} />;
}
