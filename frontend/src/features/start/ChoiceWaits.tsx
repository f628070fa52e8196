import type { Cluster } from '@/api/types';
import type { Purpose } from './completion';
import { PartitionWaits } from './PartitionWaits';
import type { ResourceValues } from './requestedResources';
import { TypeWaits } from './TypeWaits';

interface Props {
  cluster: Cluster;
  values: ResourceValues;
  purpose: Purpose | undefined;
  /** whether no other part of the form shows the wait for each GPU type */
  withTypes?: boolean;
}

/** The expected waits of the choices that a form's resources have. */
export function ChoiceWaits({ withTypes = false, ...props }: Props) {
  return (
    <>
      <PartitionWaits {...props} />
      {withTypes && <TypeWaits {...props} />}
    </>
  );
}
