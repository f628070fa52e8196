import type { Cluster } from '@/api/types';
import { PartitionWaits } from './PartitionWaits';
import type { ResourceFormValues } from './requestedResources';
import type { Purpose } from './resolveResources';
import { TypeWaits } from './TypeWaits';

interface Props {
  cluster: Cluster;
  values: ResourceFormValues;
  /** the template or environment that the resources are for */
  purpose: Purpose | undefined;
  /** whether no other part of the form shows the wait for each GPU type */
  withTypes?: boolean;
}

/** The expected queue waits for each partition, and each GPU type, that the form offers. */
export function ChoiceWaits({ withTypes = false, ...props }: Props) {
  return (
    <>
      <PartitionWaits {...props} />
      {withTypes && <TypeWaits {...props} />}
    </>
  );
}
