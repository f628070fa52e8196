/** Helpers of the cluster panel, which loads with the app. Pure. */
import type { Cluster } from '@/api/types';
import { locale } from '@/i18n';

/** A larger cluster has no list of nodes in the panel. */
export const FEW_NODES = 8;

/** Format a number in the reader's locale: "12,500". */
export const countText = (number: number): string => number.toLocaleString(locale());

/** Return whether the portal has read the cluster's state from Slurm since it started. */
export const isKnown = (cluster: Cluster): boolean => cluster.at !== null;
