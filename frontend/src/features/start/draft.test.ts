import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import type { Cluster, Environment, Preset } from '@/api/types';
import { firstPreset, hoursToMinutes, minutesToHours, toDraft, toResources } from './draft';
import { generalRefusal, resourceRefusals } from './refusal';

const cluster: Cluster = {
  name: 'test',
  notice: null,
  at: null,
  stale_since: null,
  partitions: [
    {
      name: 'gpu',
      default: true,
      state: 'UP',
      max_time_minutes: 120,
      nodes: ['n1'],
      gpus: [{ type: 'v100', total: 4, free: 4 }],
    },
  ],
  nodes: [
    {
      name: 'n1',
      state: 'IDLE',
      reason: null,
      cpus: 8,
      cpus_free: 8,
      memory_gb: 32,
      memory_free_gb: 32,
      gpus: [{ type: 'v100', total: 4, free: 4 }],
      partitions: ['gpu'],
    },
  ],
  gpus: [],
  gpu_memory_gb: {},
  presets: [],
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
const site = { ...cluster, presets: [huge, oneGpu, small] };

const environment = (gpu: Environment['gpu']): Environment =>
  ({ title: 'E', gpu, default_resources: {} }) as Environment;

describe('toDraft', () => {
  it('takes the preset’s word, then the environment’s, then a fallback within the limit', () => {
    const draft = toDraft({ cpus: 4 }, { cpus: 2, memory_gb: 16 }, cluster);
    expect(draft).toEqual({
      partition: 'gpu',
      gpus: 0,
      gpu_type: null,
      cpus: 4,
      memory_gb: 16,
      time_limit_minutes: 120,
    });
  });

  it('takes an offered zero for a number, not for silence', () => {
    expect(toDraft({ gpus: 0 }, { gpus: 2 }, cluster).gpus).toBe(0);
  });
});

describe('toResources', () => {
  it('asks for no GPU type without a GPU', () => {
    const draft = toDraft({ gpus: 0, gpu_type: 'v100' }, {}, cluster);
    expect(toResources(draft).gpu_type).toBeNull();
    expect(toResources({ ...draft, gpus: 1 }).gpu_type).toBe('v100');
  });
});

describe('firstPreset', () => {
  it('skips what the cluster can never give', () => {
    expect(firstPreset(site, environment('optional'), null)).toBe(oneGpu);
    expect(firstPreset(site, environment('optional'), 'huge')).toBe(oneGpu);
  });

  it('suits the environment, and prefers the last choice where it fits', () => {
    expect(firstPreset(site, environment('none'), null)).toBe(small);
    expect(firstPreset(site, environment('optional'), 'small')).toBe(small);
    expect(firstPreset(site, environment('required'), 'small')).toBe(oneGpu);
  });

  it('leaves out what else is wrong with one', () => {
    const few = ({ gpus }: { gpus: number | null }) => (gpus ? { gpus: 'Too many.' } : {});
    expect(firstPreset(site, environment('optional'), 'one', few)).toBe(small);
  });

  it('has none where none fits', () => {
    expect(firstPreset({ ...cluster, presets: [huge] }, environment('none'), null)).toBeUndefined();
  });
});

describe('hours', () => {
  it('go to minutes and back', () => {
    expect(hoursToMinutes(1.5)).toBe(90);
    expect(minutesToHours(100)).toBe(1.67);
    expect(hoursToMinutes(null)).toBeNull();
    expect(minutesToHours(null)).toBeNull();
  });
});

describe('a refusal', () => {
  const fields = [{ field: 'resources.gpus', message: 'Too many.' }];

  it('goes to its field, and is not said twice', () => {
    const error = new ApiError(422, 'invalid-input', 'Wrong.', fields);
    expect(resourceRefusals(error)).toEqual({ gpus: 'Too many.' });
    expect(generalRefusal(error)).toBeNull();
  });

  it('is said beside the button when the form has no field for it', () => {
    const elsewhere = [...fields, { field: 'resources.qos', message: 'No.' }];
    expect(generalRefusal(new ApiError(422, 'invalid-input', 'Wrong.', elsewhere))).toBe('Wrong.');
    expect(generalRefusal(new ApiError(409, 'home-unavailable', 'Home is full.'))).toBe(
      'Home is full.',
    );
    expect(generalRefusal(null)).toBeNull();
  });
});
