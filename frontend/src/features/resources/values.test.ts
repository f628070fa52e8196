import { describe, expect, it } from 'vitest';
import type { Cluster } from '@/api/types';
import { cluster as recorded } from '@/testing/answers/cluster';
import { resolvedResources } from '@/testing/resolvedResources';
import { hoursToMinutes, minutesToHours, toResources, toValues } from './values';

const cluster: Cluster = {
  ...recorded,
  partitions: recorded.partitions.map((each) => ({ ...each, default: each.name === 'gpu' })),
};

describe('toValues', () => {
  it('keeps explicit fields and completes the others', () => {
    expect(toValues(resolvedResources, { cpus: 4 }, cluster)).toEqual({
      partition: 'gpu',
      gpus: 0,
      gpu_type: null,
      cpus: 4,
      memory_gb: 4,
      time_limit_minutes: 120,
    });
  });

  it('keeps an emptied field empty, and a zero', () => {
    expect(
      toValues({ ...resolvedResources, gpus: 2 }, { gpus: 0, cpus: null }, cluster),
    ).toMatchObject({
      gpus: 0,
      cpus: null,
    });
  });
});

describe('toResources', () => {
  it('asks for no GPU type without a GPU', () => {
    const values = toValues(resolvedResources, { gpu_type: 'v100' }, cluster);
    expect(toResources(values)?.gpu_type).toBeNull();
    expect(toResources({ ...values, gpus: 1 })?.gpu_type).toBe('v100');
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
