import { describe, expect, it } from 'vitest';
import type { Cluster, Partition } from '@/api/types';
import { cluster as recorded } from '@/testing/answers/cluster';
import type { ResourceFormValues } from './requestedResources';
import { choicesToAsk, inPartition, waitTexts } from './waits';

const cluster: Cluster = { ...recorded, stale_since: null };
const small: ResourceFormValues = {
  partition: null,
  gpus: 0,
  gpu_type: null,
  cpus: 1,
  memory_gb: 1,
  time_limit_minutes: 60,
};
const huge: ResourceFormValues = { ...small, cpus: 4000 };
const choices = [small, huge, { ...huge, cpus: 3999 }];
const at = (seconds: number | null) => ({ start_at: null, seconds });

describe('the expected wait of choices', () => {
  it('is estimated by Slurm only for those that wait', () => {
    expect(choicesToAsk(choices, cluster)).toEqual(choices.slice(1));
    expect(choicesToAsk(Array(20).fill(huge), cluster)).toHaveLength(8);
    expect(waitTexts(choices, cluster, [at(7200), at(null)])).toEqual([
      'Expected wait: none',
      'Expected wait: 2 h',
      'Expected wait: unknown',
    ]);
  });

  it('is that of the same resources in another partition', () => {
    const [partition] = cluster.partitions;
    if (!partition) throw new Error('no partition');
    const values = { ...small, gpus: 1, gpu_type: 'no such type' };
    const moved = { ...values, partition: partition.name };
    expect(inPartition(values, partition)).toEqual({ ...moved, gpu_type: null });
    const type = { ...partition, gpus: [{ type: 'no such type', total: 1, free: 0 }] };
    expect(inPartition(values, type as Partition)).toEqual(moved);
  });

  it('is unknown without an answer', () => {
    expect(waitTexts(choices, cluster, undefined)[1]).toBe('Expected wait: …');
    expect(waitTexts(choices, cluster, [])[1]).toBe('Expected wait: unknown');
    const stale = { ...cluster, stale_since: '2026-01-01T00:00:00Z' };
    expect(choicesToAsk(choices, stale)).toEqual([]);
    expect(waitTexts(choices, stale, undefined)).toEqual(Array(3).fill('Expected wait: unknown'));
  });
});
