import { describe, expect, it } from 'vitest';
import { nodeText } from './nodeText';
import type { ClusterNode } from './types';

const node = (over: Partial<ClusterNode> = {}): ClusterNode => ({
  name: 'node1',
  condition: 'partly',
  state: 'MIXED',
  takes_work: true,
  reason: null,
  since: null,
  cpus: 8,
  cpus_free: 2,
  memory_gb: 32,
  memory_free_gb: 12.5,
  gpus: [],
  partitions: [],
  mine: [],
  jobs: 0,
  users: null,
  addresses: null,
  ...over,
});

describe('a node of the panel', () => {
  it('shows free resources, or why there are none', () => {
    expect(nodeText(node())).toBe('2 of 8 CPUs, 12.5 GB free');
    const out = { takes_work: false, state: 'IDLE+DRAIN' };
    expect(nodeText(node({ ...out, reason: 'Not responding' }))).toBe('Not responding');
    expect(nodeText(node(out))).toBe('out of service (idle+drain)');
  });
});
