import { describe, expect, it } from 'vitest';
import type { Environment, Preset, ResolvedResources } from '@/api/types';
import { toValues } from '@/features/resources/values';
import { cluster } from '@/testing/answers/cluster';
import { resolvedResources } from '@/testing/resolvedResources';
import { type CompletedPreset, firstPreset } from './presets';

const preset = (name: string, resources: Preset['resources']): Preset => ({
  name,
  title: name,
  description: '',
  resources,
});
const small = preset('small', { gpus: 0, cpus: 1, memory_gb: 2, time_limit_minutes: 60 });
const oneGpu = preset('one', { gpus: 1, cpus: 2, memory_gb: 4, time_limit_minutes: 60 });
const huge = preset('huge', { gpus: 16, cpus: 2, memory_gb: 4, time_limit_minutes: 60 });

/** A preset as the portal completes it. */
const completed = (preset: Preset, problem?: string): CompletedPreset => ({
  preset,
  values: toValues({ ...resolvedResources, ...preset.resources } as ResolvedResources, {}, cluster),
  problem,
});
const presets = [
  completed(huge, 'No node has more than 4 GPUs.'),
  completed(oneGpu),
  completed(small),
];

describe('firstPreset', () => {
  const first = (gpu: Environment['gpu'], remembered: string | null, all = presets) =>
    firstPreset(all, { gpu }, remembered)?.preset;

  it('skips presets that the portal would refuse', () => {
    expect(first('optional', null)).toBe(oneGpu);
    expect(first('optional', 'huge')).toBe(oneGpu);
  });

  it('suits the environment, and prefers a possible last choice', () => {
    expect(first('none', null)).toBe(small);
    expect(first('optional', 'small')).toBe(small);
  });

  it('is undefined if no preset is possible', () => {
    expect(first('none', null, [completed(huge, 'Too large.')])).toBeUndefined();
  });
});
