/** Conversion between resources that the portal has filled in and a form's values. Pure. */
import type { Cluster, ResolvedResources, SessionRequest } from '@/api/types';
import { findPartition } from './outlook';
import type { ExplicitResources, ResourceFormValues } from './requestedResources';

/** Shown if the site leaves the memory to Slurm: the field needs a number. */
const DEFAULT_MEMORY_GB = 4;

/** Return the values: explicit fields unchanged, emptied ones included, and the others as the portal
 * has filled them in. */
export function toValues(
  completed: ResolvedResources,
  explicit: ExplicitResources,
  cluster: Cluster,
): ResourceFormValues {
  const { partition, gpus, gpu_type, cpus, memory_gb, time_limit_minutes } = {
    ...completed,
    memory_gb: completed.memory_gb ?? DEFAULT_MEMORY_GB,
    ...explicit,
  };
  return {
    partition: findPartition(cluster, partition ?? null)?.name ?? partition ?? null,
    gpus: gpus ?? null,
    gpu_type: gpu_type ?? null,
    cpus: cpus ?? null,
    memory_gb: memory_gb ?? null,
    time_limit_minutes: time_limit_minutes ?? null,
  };
}

export function toResources(values: ResourceFormValues): SessionRequest['resources'] {
  const { gpus, gpu_type } = values;
  return { ...values, gpu_type: gpus ? gpu_type : null };
}

/** Return whether no number is missing. */
export const isComplete = ({
  gpus,
  cpus,
  memory_gb,
  time_limit_minutes,
}: ResourceFormValues): boolean =>
  [gpus, cpus, memory_gb, time_limit_minutes].every((number) => number !== null);

/** Convert typed hours to minutes and back; null if the field is empty. */
export const hoursToMinutes = (hours: number | null): number | null =>
  hours === null ? null : Math.round(hours * 60);
export const minutesToHours = (minutes: number | null): number | null =>
  minutes === null ? null : Math.round((minutes / 60) * 100) / 100;
