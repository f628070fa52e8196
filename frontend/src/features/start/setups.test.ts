import { describe, expect, it } from 'vitest';
import type { Setup, UsedSetup } from '@/api/types';
import { gpuFigureText } from './gpuFigures';
import { unsavedSetups } from './setups';

const resources = {
  partition: 'gpu',
  nodes: 1,
  gpus: 1,
  gpu_type: null,
  cpus: 4,
  memory_gb: 16,
  time_limit_minutes: 120,
  account: null,
  qos: null,
};

const used = (environment: string, gpus: number) =>
  ({ environment, resources: { ...resources, gpus } }) as UsedSetup;

describe('unsavedSetups', () => {
  it('omits saved setups, with or without a number of nodes', () => {
    const saved = { environment: 'r', resources: { ...resources, nodes: null } } as Setup;
    const all = [used('r', 1), used('r', 2), used('pytorch', 1)];
    expect(unsavedSetups(all, [saved])).toEqual([used('r', 2), used('pytorch', 1)]);
    expect(unsavedSetups(all, [])).toEqual(all);
  });
});

describe('gpuFigureText', () => {
  const figure = {
    template: 'bench-matmul',
    title: 'Matrix multiplication',
    gpu_type: 'v100',
    gpus: 1,
    nodes: 1,
    labels: { precision: 'fp16', size: 4096 },
    measure: 'GFLOPS',
    unit: 'GFLOPS',
    better: 'higher' as const,
    best: 92_000,
    median: 91_234.5,
    runs: 4,
    users: 2,
    last_at: '2026-01-01T00:00:00Z',
  };

  it('shows the median in three digits', () => {
    expect(gpuFigureText(figure)).toBe(
      'Matrix multiplication, fp16: 91,200 GFLOPS (median of 4 runs)',
    );
    expect(gpuFigureText({ ...figure, labels: {}, median: 0.12345, unit: 'ms', runs: 1 })).toBe(
      'Matrix multiplication: 0.123 ms',
    );
  });
});
