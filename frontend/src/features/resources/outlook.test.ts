import { describe, expect, it } from 'vitest';
import type { Cluster, Partition } from '@/api/types';
import { cluster as recorded } from '@/testing/answers/cluster';
import { outlook } from './outlook';
import type { ResourceFormValues } from './requestedResources';

const gpu: Partition = {
  name: 'gpu',
  default: true,
  state: 'UP',
  max_time_minutes: 1440,
  nodes: 2,
  gpus: [{ type: 'v100', total: 8, free: 5 }],
  cpus: { total: 16, free: 12 },
  memory: { total_gb: 64, free_gb: 64 },
  // the largest nodes, and what is free on them: all GPUs with few CPUs, or one with many
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

const values = (over: Partial<ResourceFormValues> = {}): ResourceFormValues => ({
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
    expect(outlook(values({ gpus: 4 }), cluster)).toBe('now');
  });

  it('is wait if no single node has everything free', () => {
    expect(outlook(values({ gpus: 2, cpus: 8 }), cluster)).toBe('wait');
  });

  it('adds up the types of a node if none is requested', () => {
    const mixed = {
      ...gpu,
      largest_free: [{ gpus: { v100: 1, a100: 2 }, cpus: 8, memory_gb: 32 }],
    };
    const both = { ...cluster, partitions: [mixed] };
    expect(outlook(values({ gpus: 3, gpu_type: null }), both)).toBe('now');
    expect(outlook(values({ gpus: 2 }), both)).toBe('wait');
  });

  it('is down without a large enough node in service', () => {
    expect(outlook(values({ gpus: 5 }), cluster)).toBe('down');
    expect(outlook(values({ gpu_type: 'a100' }), cluster)).toBe('down');
    expect(outlook(values({ partition: 'old', gpus: 0 }), cluster)).toBe('down');
    const out = { ...cluster, partitions: [{ ...gpu, largest: [], largest_free: [] }] };
    expect(outlook(values(), out)).toBe('down');
  });
});
