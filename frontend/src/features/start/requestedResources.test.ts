import { describe, expect, it } from 'vitest';
import { changesOf, isNamedResources, toNamedResources, toSend } from './requestedResources';

describe('what a form names', () => {
  it('is what came with it, then what was typed', () => {
    const base = { partition: 'gpu', gpus: 1, cpus: 4 };
    expect(toNamedResources({ base, typed: { cpus: 8 } })).toEqual({ ...base, cpus: 8 });
  });

  it('leaves the partition to the portal once GPUs come or go', () => {
    const base = { partition: 'cpu', gpus: 0, cpus: 2 };
    expect(toNamedResources({ base, typed: { gpus: 4 } })).toEqual({ gpus: 4, cpus: 2 });
    const gpu = { partition: 'gpu', gpus: 2 };
    expect(toNamedResources({ base: gpu, typed: { gpus: 0 } })).toEqual({ gpus: 0 });
    expect(toNamedResources({ base: gpu, typed: { gpus: 1 } })).toEqual({
      partition: 'gpu',
      gpus: 1,
    });
    expect(toNamedResources({ base: gpu, typed: { gpus: null } })).toHaveProperty('partition');
  });

  it('keeps a partition that the user chose', () => {
    const base = { partition: 'cpu', gpus: 0 };
    const typed = { gpus: 4, partition: 'cpu' };
    expect(toNamedResources({ base, typed })).toEqual(typed);
  });

  it('is known again when a tab has kept it', () => {
    expect(isNamedResources({ gpus: null, cpus: 2, partition: 'cpu' })).toBe(true);
    expect(isNamedResources({ node: { gpus: 1 } })).toBe(false);
    expect(isNamedResources(null)).toBe(false);
  });
});

describe('a change', () => {
  it('names the fields that differ', () => {
    expect(changesOf({ gpus: 0, cpus: 2 }, { gpus: 4, cpus: 2 })).toEqual({ gpus: 4 });
  });
});

describe('a request', () => {
  it('leaves out what is empty or wrong by itself', () => {
    const named = { gpus: 1.5, cpus: 0, memory_gb: null, time_limit_minutes: 60, nodes: 2 };
    expect(toSend(named)).toEqual({ time_limit_minutes: 60, nodes: 2 });
    expect(toSend({ gpus: 0, memory_gb: 0.5, partition: 'x' })).toEqual({
      gpus: 0,
      memory_gb: 0.5,
      partition: 'x',
    });
  });
});
