import { describe, expect, it } from 'vitest';
import { curvesOf, describe as describeCurve, isNearLimit, pathOf } from './curves';
import type { UsageSeries } from './facts';

const ages = [1800, 600, 300, 0];
const gpu = (use: (number | null)[], memory: number) => ({
  name: 'H100',
  use_percent: use,
  memory_mb: use.map(() => memory),
  memory_total_mb: 81_920,
});
const series = (over: Partial<UsageSeries> = {}): UsageSeries => ({
  ages_s: ages,
  memory_mb: [3000, 1024, null, 2048],
  memory_limit_mb: 4096,
  gpus: null,
  ...over,
});

describe('the curves of a session', () => {
  it('have a text with the present, highest and permitted value of the period', () => {
    const [memory] = curvesOf(series());
    if (memory === undefined) throw new Error('no curve');
    expect(describeCurve(ages, memory, 900)).toBe(
      'Memory in the last 15 min: now 2 GB, highest 2 GB, limit 4 GB',
    );
    expect(describeCurve(ages, memory, 3600)).toContain('highest 2.9 GB');
    expect(describeCurve(ages, { ...memory, values: [null] }, 900)).toBe('Memory: not known');
  });

  it('show the GPUs together: their mean use, and the sum of their memory', () => {
    const gpus = [gpu([0, 50, null, 100], 1024), gpu([0, 100, null, null], 1024)];
    const [use, memory, ...others] = curvesOf(series({ gpus }));
    expect([use?.name, use?.values]).toEqual(['2 GPUs, mean', [0, 75, null, 100]]);
    expect([memory?.values[0], memory?.limit]).toEqual([2048, 163_840]);
    expect(others).toHaveLength(1);
  });

  it('are close to a limit from 90 % of it', () => {
    const near = (memory_mb: (number | null)[], memory_limit_mb: number | null) =>
      curvesOf(series({ memory_mb, memory_limit_mb })).map(isNearLimit);
    expect(near([4000, 3600], 4000)).toEqual([true]);
    expect(near([4000, 3599, null], 4000)).toEqual([false]);
    expect(near([3600], null)).toEqual([false]);
    expect(near([null], 4000)).toEqual([false]);
  });

  it('draw only the period, with gaps for what is not known', () => {
    const [memory] = curvesOf(series());
    if (memory === undefined) throw new Error('no curve');
    expect(pathOf(ages, { ...memory, top: 4096 }, 900)).toBe('M100.0 42.0M300.0 28.0');
    expect(pathOf(ages, { ...memory, top: 4096 }, 1800)).toBe('M0.0 15.0L200.0 42.0M300.0 28.0');
  });
});
