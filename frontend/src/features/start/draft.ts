/** From the resources someone offers (a preset, an environment) to a form's numbers, and back. Pure. */
import { t } from '@lingui/core/macro';
import type { Cluster, Environment, Preset, SessionRequest, SomeResources } from '@/api/types';
import { resourceTexts } from '@/features/sessions/words';
import { isLike, isNumber, isText, orNull } from '@/lib/drafts';
import { checkResources, type Draft, findPartition, type Problems } from './check';

/** For what nobody has said anything about. */
const FALLBACK = { cpus: 1, memory_gb: 4, time_limit_minutes: 240 } as const;

/** The first to say something about a value wins: the preset, then the environment, then a fallback. */
export function toDraft(offered: SomeResources, defaults: SomeResources, cluster: Cluster): Draft {
  const partition = findPartition(cluster, offered.partition ?? defaults.partition ?? null);
  const limit = partition?.max_time_minutes ?? Number.POSITIVE_INFINITY;
  const minutes = offered.time_limit_minutes ?? defaults.time_limit_minutes;
  return {
    partition: partition?.name ?? null,
    gpus: offered.gpus ?? defaults.gpus ?? 0,
    gpu_type: offered.gpu_type ?? defaults.gpu_type ?? null,
    cpus: offered.cpus ?? defaults.cpus ?? FALLBACK.cpus,
    memory_gb: offered.memory_gb ?? defaults.memory_gb ?? FALLBACK.memory_gb,
    time_limit_minutes: minutes ?? Math.min(FALLBACK.time_limit_minutes, limit),
  };
}

/** Whether what a tab has kept is a form's numbers. */
export const isDraft = isLike<Draft>({
  partition: orNull(isText),
  gpus: orNull(isNumber),
  gpu_type: orNull(isText),
  cpus: orNull(isNumber),
  memory_gb: orNull(isNumber),
  time_limit_minutes: orNull(isNumber),
});

export function toResources(draft: Draft): SessionRequest['resources'] {
  const { gpus, gpu_type } = draft;
  return { ...draft, gpu_type: gpus ? gpu_type : null };
}

/** Whether each number is there. */
export const isComplete = ({ gpus, cpus, memory_gb, time_limit_minutes }: Draft): boolean =>
  [gpus, cpus, memory_gb, time_limit_minutes].every((number) => number !== null);

/** "1 v100 GPU · 2 CPUs · 4 GB · 4 h" */
export const draftText = (draft: Draft): string =>
  isComplete(draft) ? resourceTexts(draft).join(' · ') : t`Some numbers are still missing.`;

/** The preset to begin with: the remembered one if it fits the environment, else the first that does.
 * `alsoWrong` knows what is wrong besides what the cluster can't do. */
export function firstPreset(
  cluster: Cluster,
  environment: Environment,
  remembered: string | null,
  alsoWrong: (draft: Draft) => Problems = () => ({}),
): Preset | undefined {
  const fits = (preset: Preset): boolean => {
    const draft = toDraft(preset.resources, environment.default_resources, cluster);
    const wrong = { ...checkResources(draft, cluster, environment), ...alsoWrong(draft) };
    return Object.keys(wrong).length === 0;
  };
  const sensible = ({ resources }: Preset): boolean =>
    environment.gpu !== 'none' || (resources.gpus ?? 0) === 0;
  const fitting = cluster.presets.filter(fits);
  return fitting.find((p) => p.name === remembered) ?? fitting.find(sensible) ?? fitting[0];
}

/** Hours as typed, to minutes and back; null while the field is empty. */
export const hoursToMinutes = (hours: number | null): number | null =>
  hours === null ? null : Math.round(hours * 60);
export const minutesToHours = (minutes: number | null): number | null =>
  minutes === null ? null : Math.round((minutes / 60) * 100) / 100;
