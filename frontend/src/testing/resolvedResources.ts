import type { ResolvedResources } from '@/api/types';

/** A request without a partition, as the portal completes it. */
export const resolvedResources: ResolvedResources = {
  partition: null,
  nodes: 1,
  gpus: 0,
  gpu_type: null,
  cpus: 2,
  memory_gb: null,
  time_limit_minutes: 120,
  account: null,
  qos: null,
};
