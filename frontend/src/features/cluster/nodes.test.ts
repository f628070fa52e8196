import { describe, expect, it } from 'vitest';
import type { ClusterNode } from '@/api/types';
import { inNodeOrder, nodeText } from './nodes';

const node = (name: string, over: Partial<ClusterNode> = {}): ClusterNode => ({
  name,
  state: 'MIXED',
  reason: null,
  cpus: 8,
  cpus_free: 2,
  memory_gb: 32,
  memory_free_gb: 12.5,
  gpus: [],
  partitions: [],
  ...over,
});

describe('nodes', () => {
  it('are counted in natural order', () => {
    const names = inNodeOrder([node('node10'), node('node2'), node('a1')]).map((n) => n.name);
    expect(names).toEqual(['a1', 'node2', 'node10']);
  });

  it('show free resources, or why there are none', () => {
    expect(nodeText(node('n'))).toBe('2 of 8 CPUs, 12.5 GB free');
    expect(nodeText(node('n', { state: 'DOWN*', reason: 'Not responding' }))).toBe(
      'Not responding',
    );
    expect(nodeText(node('n', { state: 'IDLE+DRAIN' }))).toBe('out of service (idle+drain)');
  });
});
