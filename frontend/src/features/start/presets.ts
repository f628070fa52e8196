/** The site's presets of resources. Pure. */
import type { Environment, Preset } from '@/api/types';
import type { ResourceFormValues } from '@/features/resources/requestedResources';

/** A preset whose missing fields the portal has filled in for the chosen environment. */
export interface CompletedPreset {
  preset: Preset;
  values: ResourceFormValues;
  /** why it can't be started */
  problem: string | undefined;
}

/** Return the initial preset: the remembered one if it can be started, else the first that can and has
 * no GPUs if the environment uses none, else the first that can. */
export function firstPreset(
  presets: readonly CompletedPreset[],
  environment: Pick<Environment, 'gpu'>,
  remembered: string | null,
): CompletedPreset | undefined {
  const suits = ({ values }: CompletedPreset): boolean =>
    environment.gpu !== 'none' || !values.gpus;
  const possible = presets.filter(({ problem }) => problem === undefined);
  return (
    possible.find(({ preset }) => preset.name === remembered) ?? possible.find(suits) ?? possible[0]
  );
}
