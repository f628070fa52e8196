import type { Cluster } from '@/api/types';
import { PartitionWaits } from './PartitionWaits';
import type { ResourceFormValues } from './requestedResources';
import type { Purpose } from './resolveResources';
import { TypeWaits } from './TypeWaits';

interface Props {
  cluster: Cluster;
  values: ResourceFormValues;
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
