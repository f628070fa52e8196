import { describe, expect, it } from 'vitest';
import type { Cluster, ClusterNode } from '@/api/types';
import { outlook } from './outlook';
import type { Draft } from './requestedResources';

const node = (name: string, over: Partial<ClusterNode> = {}): ClusterNode => ({
  name,
  state: 'idle',
  reason: null,
  cpus: 8,
  cpus_free: 8,
  memory_gb: 32,
  memory_free_gb: 32,
  gpus: [{ type: 'v100', total: 4, free: 4 }],
  partitions: ['gpu'],
  ...over,
});

const cluster: Cluster = {
  name: 'test',
  notice: null,
  at: '2026-01-01T00:00:00Z',
  stale_since: null,
  partitions: [
    {
      name: 'gpu',
      default: true,
      state: 'up',
      max_time_minutes: 1440,
      nodes: ['n1', 'n2'],
      gpus: [{ type: 'v100', total: 8, free: 5 }],
    },
    { name: 'cpu', default: false, state: 'up', max_time_minutes: null, nodes: ['n3'], gpus: [] },
    { name: 'old', default: false, state: 'down', max_time_minutes: null, nodes: ['n3'], gpus: [] },
  ],
  nodes: [
    node('n1', { gpus: [{ type: 'v100', total: 4, free: 1 }], cpus_free: 2 }),
    node('n2', { cpus: 4, cpus_free: 4 }),
    node('n3', { gpus: [], cpus: 16, memory_gb: 64, partitions: ['cpu'] }),
  ],
  gpus: [{ type: 'v100', total: 8, free: 5 }],
  gpu_memory_gb: {},
  presets: [],
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

  it('ignores nodes out of service, with any state flags', () => {
    const down = {
      ...cluster,
      nodes: [node('n1', { state: 'idle+drain' }), node('n2', { state: 'down*' })],
    };
    expect(outlook(draft(), down)).toBe('down');
    expect(outlook(draft({ partition: 'old', gpus: 0 }), cluster)).toBe('down');
  });
});
