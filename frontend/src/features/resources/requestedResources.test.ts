import { describe, expect, it } from 'vitest';
import {
  changesOf,
  checkEmpty,
  isExplicitResources,
  toExplicitResources,
} from './requestedResources';

describe('explicit resources', () => {
  it('are the base with the typed fields', () => {
    const base = { partition: 'gpu', gpus: 1, cpus: 4 };
    expect(toExplicitResources({ base, typed: { cpus: 8 } })).toEqual({ ...base, cpus: 8 });
  });

  it('leave the partition to the portal once GPUs are added or removed', () => {
    const base = { partition: 'cpu', gpus: 0, cpus: 2 };
    expect(toExplicitResources({ base, typed: { gpus: 4 } })).toEqual({ gpus: 4, cpus: 2 });
    const gpu = { partition: 'gpu', gpus: 2 };
    expect(toExplicitResources({ base: gpu, typed: { gpus: 0 } })).toEqual({ gpus: 0 });
    expect(toExplicitResources({ base: gpu, typed: { gpus: 1 } })).toEqual({
      partition: 'gpu',
      gpus: 1,
    });
    expect(toExplicitResources({ base: gpu, typed: { gpus: null } })).toHaveProperty('partition');
  });

  it('keep a partition that the user chose', () => {
    const base = { partition: 'cpu', gpus: 0 };
    const typed = { gpus: 4, partition: 'cpu' };
    expect(toExplicitResources({ base, typed })).toEqual(typed);
  });

  it('are recognized in a stored draft', () => {
    expect(isExplicitResources({ gpus: null, cpus: 2, partition: 'cpu' })).toBe(true);
    expect(isExplicitResources({ node: { gpus: 1 } })).toBe(false);
    expect(isExplicitResources(null)).toBe(false);
  });
});

describe('a change', () => {
  it('has the fields that differ', () => {
    expect(changesOf({ gpus: 0, cpus: 2 }, { gpus: 4, cpus: 2 })).toEqual({ gpus: 4 });
  });
});

describe('checkEmpty', () => {
  it('has missing numbers only', () => {
    const values = { gpus: 1.5, cpus: 0, memory_gb: null, time_limit_minutes: -1 };
    const node = { partition: null, gpu_type: null, ...values };
    expect(checkEmpty(node)).toEqual({ memory_gb: 'Enter a number.' });
    expect(Object.keys(checkEmpty({ ...node, nodes: null }))).toEqual(['nodes', 'memory_gb']);
  });
});
