import { describe, expect, it } from 'vitest';
import type { Cluster } from '@/api/types';
import { cluster as recorded } from '@/testing/answers/cluster';
import { outlook } from './outlook';
import type { Draft } from './requestedResources';

const gpu = {
  ...recorded.partitions[0],
  name: 'gpu',
  state: 'UP',
  // the largest nodes, and what is free on them: one GPU with many CPUs, or all GPUs with few
  largest: [{ gpus: { v100: 4 }, cpus: 8, memory_gb: 32 }],
  largest_free: [
    { gpus: { v100: 4 }, cpus: 4, memory_gb: 32 },
    { gpus: { v100: 1 }, cpus: 8, memory_gb: 32 },
  ],
};
const cluster: Cluster = {
  ...recorded,
  partitions: [gpu, { ...gpu, name: 'old', state: 'DOWN' }],
};

const draft = (over: Partial<Draft> = {}): Draft => ({
  partition: 'gpu',
  gpus: 1,
  gpu_type: 'v100',
  cpus: 2,
  memory_gb: 4,
  time_limit_minutes: 240,
  ...over,
});

describe('outlook', () => {
  it('is now if a node has everything free', () => {
    expect(outlook(draft({ gpus: 4 }), cluster)).toBe('now');
  });

  it('is wait if no single node has everything free', () => {
    expect(outlook(draft({ gpus: 2, cpus: 8 }), cluster)).toBe('wait');
  });

  it('adds up the types of a node if none is requested', () => {
    const mixed = {
      ...gpu,
      largest_free: [{ gpus: { v100: 1, a100: 2 }, cpus: 8, memory_gb: 32 }],
    };
    const both = { ...cluster, partitions: [mixed] };
    expect(outlook(draft({ gpus: 3, gpu_type: null }), both)).toBe('now');
    expect(outlook(draft({ gpus: 2 }), both)).toBe('wait');
  });

  it('is down without a large enough node in service', () => {
    expect(outlook(draft({ gpus: 5 }), cluster)).toBe('down');
    expect(outlook(draft({ gpu_type: 'a100' }), cluster)).toBe('down');
    expect(outlook(draft({ partition: 'old', gpus: 0 }), cluster)).toBe('down');
    const out = { ...cluster, partitions: [{ ...gpu, largest: [], largest_free: [] }] };
    expect(outlook(draft(), out)).toBe('down');
  });
});
