import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import type { Cluster, Environment, Preset, Resources } from '@/api/types';
import {
  firstPreset,
  hoursToMinutes,
  minutesToHours,
  type Offer,
  toDraft,
  toResources,
} from './draft';
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

const environment = (gpu: Environment['gpu']): Environment => ({ title: 'E', gpu }) as Environment;

const COMPLETED: Resources = {
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

/** As the portal completes it. */
const offer = (one: Preset): Offer => ({
  preset: one,
  draft: toDraft({ ...COMPLETED, ...one.resources } as Resources, {}, cluster),
});
const offers = [offer(huge), offer(oneGpu), offer(small)];

describe('toDraft', () => {
  it('shows what was named, and the rest as the portal completes it', () => {
    expect(toDraft(COMPLETED, { cpus: 4 }, cluster)).toEqual({
      partition: 'gpu',
      gpus: 0,
      gpu_type: null,
      cpus: 4,
      memory_gb: 4,
      time_limit_minutes: 120,
    });
  });

  it('keeps an emptied field empty, and a zero', () => {
    expect(toDraft({ ...COMPLETED, gpus: 2 }, { gpus: 0, cpus: null }, cluster)).toMatchObject({
      gpus: 0,
      cpus: null,
    });
  });
});

describe('toResources', () => {
  it('asks for no GPU type without a GPU', () => {
    const draft = toDraft(COMPLETED, { gpu_type: 'v100' }, cluster);
    expect(toResources(draft)?.gpu_type).toBeNull();
    expect(toResources({ ...draft, gpus: 1 })?.gpu_type).toBe('v100');
  });
});

describe('firstPreset', () => {
  const first = (gpu: Environment['gpu'], remembered: string | null, offered = offers) =>
    firstPreset(offered, cluster, environment(gpu), remembered)?.preset;

  it('skips what the cluster can never give', () => {
    expect(first('optional', null)).toBe(oneGpu);
    expect(first('optional', 'huge')).toBe(oneGpu);
  });

  it('suits the environment, and prefers the last choice where it fits', () => {
    expect(first('none', null)).toBe(small);
    expect(first('optional', 'small')).toBe(small);
    expect(first('required', 'small')).toBe(oneGpu);
  });

  it('leaves out what else is wrong with one', () => {
    const few = ({ gpus }: { gpus: number | null }) => (gpus ? { gpus: 'Too many.' } : {});
    expect(firstPreset(offers, cluster, environment('optional'), 'one', few)?.preset).toBe(small);
  });

  it('has none where none fits', () => {
    expect(first('none', null, [offer(huge)])).toBeUndefined();
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

  it('goes to its field, and is not repeated', () => {
    const error = new ApiError(422, 'invalid-input', 'Wrong.', fields);
    expect(resourceRefusals(error)).toEqual({ gpus: 'Too many.' });
    expect(generalRefusal(error)).toBeNull();
  });

  it('is shown beside the button when the form has no field for it', () => {
    const elsewhere = [...fields, { field: 'resources.qos', message: 'No.' }];
    expect(generalRefusal(new ApiError(422, 'invalid-input', 'Wrong.', elsewhere))).toBe('Wrong.');
    expect(generalRefusal(new ApiError(409, 'home-unavailable', 'Home is full.'))).toBe(
      'Home is full.',
    );
    expect(generalRefusal(null)).toBeNull();
  });
});
