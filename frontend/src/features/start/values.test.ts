import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import type { Cluster, Environment, Preset, ResolvedResources } from '@/api/types';
import { cluster as recorded } from '@/testing/answers/cluster';
import { generalMessage, resourceErrorsOf } from './formErrors';
import {
  firstPreset,
  hoursToMinutes,
  minutesToHours,
  type Offer,
  toResources,
  toValues,
} from './values';

const cluster: Cluster = {
  ...recorded,
  partitions: recorded.partitions.map((each) => ({ ...each, default: each.name === 'gpu' })),
};

const preset = (name: string, resources: Preset['resources']): Preset => ({
  name,
  title: name,
  description: '',
  resources,
});
const small = preset('small', { gpus: 0, cpus: 1, memory_gb: 2, time_limit_minutes: 60 });
const oneGpu = preset('one', { gpus: 1, cpus: 2, memory_gb: 4, time_limit_minutes: 60 });
const huge = preset('huge', { gpus: 16, cpus: 2, memory_gb: 4, time_limit_minutes: 60 });

const COMPLETED: ResolvedResources = {
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

/** A preset as the portal completes it. */
const offer = (preset: Preset, problem?: string): Offer => ({
  preset,
  values: toValues({ ...COMPLETED, ...preset.resources } as ResolvedResources, {}, cluster),
  problem,
});
const offers = [offer(huge, 'No node has more than 4 GPUs.'), offer(oneGpu), offer(small)];

describe('toDraft', () => {
  it('keeps explicit fields and completes the others', () => {
    expect(toValues(COMPLETED, { cpus: 4 }, cluster)).toEqual({
      partition: 'gpu',
      gpus: 0,
      gpu_type: null,
      cpus: 4,
      memory_gb: 4,
      time_limit_minutes: 120,
    });
  });

  it('keeps an emptied field empty, and a zero', () => {
    expect(toValues({ ...COMPLETED, gpus: 2 }, { gpus: 0, cpus: null }, cluster)).toMatchObject({
      gpus: 0,
      cpus: null,
    });
  });
});

describe('toResources', () => {
  it('asks for no GPU type without a GPU', () => {
    const values = toValues(COMPLETED, { gpu_type: 'v100' }, cluster);
    expect(toResources(values)?.gpu_type).toBeNull();
    expect(toResources({ ...values, gpus: 1 })?.gpu_type).toBe('v100');
  });
});

describe('firstPreset', () => {
  const first = (gpu: Environment['gpu'], remembered: string | null, offered = offers) =>
    firstPreset(offered, { gpu }, remembered)?.preset;

  it('skips presets that the portal would refuse', () => {
    expect(first('optional', null)).toBe(oneGpu);
    expect(first('optional', 'huge')).toBe(oneGpu);
  });

  it('suits the environment, and prefers a possible last choice', () => {
    expect(first('none', null)).toBe(small);
    expect(first('optional', 'small')).toBe(small);
  });

  it('is undefined if no preset is possible', () => {
    expect(first('none', null, [offer(huge, 'Too large.')])).toBeUndefined();
  });
});

describe('hours', () => {
  it('are converted to minutes and back', () => {
    expect(hoursToMinutes(1.5)).toBe(90);
    expect(minutesToHours(100)).toBe(1.67);
    expect(hoursToMinutes(null)).toBeNull();
    expect(minutesToHours(null)).toBeNull();
  });
});

describe('the messages of an error', () => {
  const fields = [{ field: 'resources.gpus', message: 'Too many.' }];

  it('is shown at its field only', () => {
    const error = new ApiError(422, 'invalid-input', 'Wrong.', fields);
    expect(resourceErrorsOf(error)).toEqual({ gpus: 'Too many.' });
    expect(generalMessage(error)).toBeNull();
  });

  it('is shown beside the button when the form has no field for it', () => {
    const withQos = [...fields, { field: 'resources.qos', message: 'No.' }];
    expect(generalMessage(new ApiError(422, 'invalid-input', 'Wrong.', withQos))).toBe('Wrong.');
    expect(generalMessage(new ApiError(409, 'home-unavailable', 'Home is full.'))).toBe(
      'Home is full.',
    );
    expect(generalMessage(null)).toBeNull();
  });
});
