import type { Cluster } from '@/api/types';
import type { Purpose } from '@/features/start/completion';
import { PartitionWaits } from '@/features/start/PartitionWaits';
import type { Draft } from '@/features/start/requestedResources';
import { TypeWaits } from './TypeWaits';

interface Props {
  cluster: Cluster;
  draft: Draft;
  purpose: Purpose;
}

/** The expected waits of the choices that a job's resources have. */
export function ChoiceWaits(props: Props) {
  return (
    <>
      <PartitionWaits {...props} />
      <TypeWaits {...props} />
    </>
  );
}
