import { describe, expect, it } from 'vitest';
import type { UserLimits } from '@/api/types';
import type { Draft } from './check';
import { limitProblems, noRoomForSession } from './limits';

const draft: Draft = {
  partition: 'gpu',
  gpus: 2,
  gpu_type: 'v100',
  cpus: 4,
  memory_gb: 16,
  time_limit_minutes: 120,
};

const limits = (values: Record<string, unknown>, sessions: number | null = 0) =>
  ({
    effective: Object.fromEntries(
      Object.entries(values).map(([field, value]) => [field, { value, from: null }]),
    ),
    use: { sessions },
  }) as unknown as UserLimits;

describe('limitProblems', () => {
  it('is empty while limits are unknown or unset', () => {
    expect(limitProblems(draft, undefined)).toEqual({});
    expect(limitProblems(draft, limits({ gpus: null }))).toEqual({});
    expect(limitProblems(draft, limits({ gpus: 2, cpus: 4, gpus_by_type: { a100: 0 } }))).toEqual(
      {},
    );
  });

  it('names the field that is over', () => {
    const found = limitProblems(
      draft,
      limits({ gpus: 1, cpus: 2, memory_gb: 8, time_limit_minutes: 60, partitions: ['cpu'] }),
    );
    expect(found).toEqual({
      gpus: 'Your limit is 1 GPU at once. Request fewer.',
      cpus: 'Your limit is 2 CPUs at once. Request fewer.',
      memory_gb: 'Your limit is 8 GB at once. Request less.',
      time_limit_minutes: 'Your sessions can run for at most 1 h.',
      partition: 'You may use these partitions: cpu.',
    });
  });

  it('knows limits by type', () => {
    expect(limitProblems(draft, limits({ gpus_by_type: { v100: 1 } })).gpus).toMatch('1 v100 GPU');
    expect(limitProblems(draft, limits({ gpus_by_type: { v100: 0 } })).gpu_type).toMatch(
      "can't use v100",
    );
    const cpuOnly = { ...draft, gpus: 0 };
    expect(limitProblems(cpuOnly, limits({ gpus_by_type: { v100: 0 } }))).toEqual({});
  });
});

describe('noRoomForSession', () => {
  it('reports a missing account first', () => {
    const problem = 'You have no Slurm account yet. Ask your administrators to give you one.';
    expect(noRoomForSession({ ...limits({ sessions: 2 }, 2), problem })).toBe(problem);
  });

  it('counts what is there', () => {
    expect(noRoomForSession(undefined)).toBeNull();
    expect(noRoomForSession(limits({ sessions: 2 }, 1))).toBeNull();
    expect(noRoomForSession(limits({ sessions: 2 }, null))).toBeNull();
    expect(noRoomForSession(limits({ sessions: 2 }, 2))).toMatch('already have 2 sessions');
    expect(noRoomForSession(limits({ sessions: 0 }, 0))).toMatch('allows no sessions');
  });
});
