/** From resources that the portal has completed to a form's numbers, and back. Pure. */
import { t } from '@lingui/core/macro';
import type { Cluster, Environment, Preset, Resources, SessionRequest } from '@/api/types';
import { resourceTexts } from '@/lib/resourceLabels';
import { checkResources, type Draft, findPartition, type Problems } from './check';
import type { NamedResources } from './requestedResources';

/** The form wants a number where the site leaves the memory to Slurm. */
const MEMORY_GB = 4;

/** What was named as it was named, emptied fields included, and the rest as completed. */
export function toDraft(completed: Resources, named: NamedResources, cluster: Cluster): Draft {
  const { partition, gpus, gpu_type, cpus, memory_gb, time_limit_minutes } = {
    ...completed,
    memory_gb: completed.memory_gb ?? MEMORY_GB,
    ...named,
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

export function toResources(draft: Draft): SessionRequest['resources'] {
  const { gpus, gpu_type } = draft;
  return { ...draft, gpu_type: gpus ? gpu_type : null };
}

/** Whether each number is there. */
export const isComplete = ({ gpus, cpus, memory_gb, time_limit_minutes }: Draft): boolean =>
  [gpus, cpus, memory_gb, time_limit_minutes].every((number) => number !== null);

/** "1 v100 GPU · 2 CPUs · 4 GB · 4 h" */
export const draftText = (draft: Draft): string =>
  isComplete(draft) ? resourceTexts(draft).join(' · ') : t`Some values are still missing.`;

/** A preset with its numbers in the chosen environment. */
export interface Offer {
  preset: Preset;
  draft: Draft;
}

/** The preset to begin with: the remembered one if it fits the environment, else the first that does.
 * `alsoWrong` knows what is wrong besides what the cluster can't do. */
export function firstPreset(
  offers: readonly Offer[],
  cluster: Cluster,
  environment: Environment,
  remembered: string | null,
  alsoWrong: (draft: Draft) => Problems = () => ({}),
): Offer | undefined {
  const fits = ({ draft }: Offer): boolean => {
    const wrong = { ...checkResources(draft, cluster, environment), ...alsoWrong(draft) };
    return Object.keys(wrong).length === 0;
  };
  const sensible = ({ draft }: Offer): boolean => environment.gpu !== 'none' || !draft.gpus;
  const fitting = offers.filter(fits);
  return (
    fitting.find(({ preset }) => preset.name === remembered) ?? fitting.find(sensible) ?? fitting[0]
  );
}

/** Hours as typed, to minutes and back; null while the field is empty. */
export const hoursToMinutes = (hours: number | null): number | null =>
  hours === null ? null : Math.round(hours * 60);
export const minutesToHours = (minutes: number | null): number | null =>
  minutes === null ? null : Math.round((minutes / 60) * 100) / 100;
