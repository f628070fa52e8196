import type { Cluster } from '@/api/types';

/** Return whether the portal has read the cluster's state from Slurm since it started. Pure. */
export const isClusterKnown = (cluster: Cluster): boolean => cluster.at !== null;
