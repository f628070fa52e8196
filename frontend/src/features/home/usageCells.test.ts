import { describe, expect, it } from 'vitest';
import type { Cluster } from '@/api/types';
import { cluster } from '@/testing/answers/cluster';
import { limits } from '@/testing/answers/limits';
import { clusterCell, ownCells } from './usageCells';

const use = { ...limits.use, gpus: 2, cpus: 6 };
const total = (group: string, gpus: number | null) =>
  ({ group, account: group, limit: { gpus, cpus: null }, use: { ...use, gpus: 3 } }) as never;

const texts = (over: object, of: Cluster | null = cluster): string[] =>
  ownCells({ ...limits, use, ...over }, of).map(({ name, text }) => `${name}: ${text}`);

describe('the usage strip', () => {
  it('shows used of total, for the user and their groups', () => {
    const effective = { ...limits.effective, gpus: { value: 4, from: null, otherwise: null } };
    const group_use = [{ group: 'physics', use: { ...use, gpus: 5 } }];
    expect(texts({ effective, together: [total('vision', 8)], group_use })).toEqual([
      'You: 2 of 4 GPUs in use',
      'vision: 3 of 8 GPUs in use',
      'physics: 5 GPUs in use',
    ]);
  });

  it('shows what is not known, and what has no limit', () => {
    expect(texts({})).toEqual(['You: 2 GPUs in use']);
    expect(texts({ use: { ...use, gpus: null } })).toEqual(['You: –']);
  });

  it('shows a few groups only', () => {
    const together = ['a', 'b', 'c'].map((name) => total(name, 8));
    expect(texts({ together })).toHaveLength(3);
  });

  it('sums up the cluster', () => {
    const gpus = [
      { type: 'a', total: 4, free: 1 },
      { type: 'b', total: 2, free: 2 },
    ];
    expect(clusterCell({ ...cluster, gpus }).text).toBe('3 of 6 GPUs in use');
    expect(clusterCell(null).text).toBe('–');
    expect(clusterCell({ ...cluster, at: null }).total).toBeNull();
  });

  it('counts CPUs on a cluster without GPUs', () => {
    const without = { ...cluster, gpus: [], cpus: { total: 8, free: 3 } };
    expect(clusterCell(without).text).toBe('5 of 8 CPUs in use');
    expect(texts({}, without)).toEqual(['You: 6 CPUs in use']);
  });
});
