import { describe, expect, it } from 'vitest';
import { readKept, withKept } from './keptIdle';
import {
  currentPercent,
  idleGpuText,
  sparklinePaths,
  sparklineText,
  trendText,
  type UsageTrend,
} from './trend';

const NOW = Date.parse('2026-03-01T12:00:00Z');

const trend = (over: Partial<UsageTrend> = {}): UsageTrend => ({
  id: 'a',
  resource: 'gpu',
  percent: [10, null, 90, 45.4],
  gpu_idle_since: null,
  gpu_idle_longer: false,
  metric: null,
  ...over,
});

const idleFor = (minutes: number, over: Partial<UsageTrend> = {}): UsageTrend =>
  trend({ gpu_idle_since: new Date(NOW - minutes * 60_000).toISOString(), ...over });

describe('the sparkline', () => {
  it('has a stretch on each side of a gap', () => {
    expect(sparklinePaths([10, null, 90, 45])).toEqual(['M0 90H1', 'M2 10H3L3 55H4']);
    expect(sparklinePaths([null, null])).toEqual([]);
    expect(sparklinePaths([])).toEqual([]);
  });

  it('is described in words', () => {
    expect(sparklineText(trend())).toBe('GPU utilization in the last 15 minutes: at most 90 %');
    expect(sparklineText(trend({ resource: 'cpu' }))).toContain('CPU utilization');
    expect(sparklineText(undefined)).toBe('No usage data for the last 15 minutes');
    expect(sparklineText(trend({ percent: [null] }))).toContain('No usage data');
  });
});

describe('the current use', () => {
  it('is the last known value, unless that is old', () => {
    expect(currentPercent(trend({ percent: [5, 7, null, null] }))).toBe(7);
    expect(currentPercent(trend({ percent: [5, null, null, null, null] }))).toBeNull();
    expect(trendText(trend())).toBe('GPU 45 % now');
    expect(trendText(trend({ resource: 'cpu', percent: [0] }))).toBe('CPU 0 % now');
    expect(trendText(trend({ percent: [] }))).toBe('No usage data');
    expect(trendText(undefined)).toBe('No usage data');
  });
});

describe('the hint at an idle GPU', () => {
  it('appears after twenty minutes', () => {
    expect(idleGpuText(idleFor(25), null, NOW)).toBe('GPU idle for 25 min');
    expect(idleGpuText(idleFor(19), null, NOW)).toBeNull();
    expect(idleGpuText(trend(), null, NOW)).toBeNull();
    expect(idleGpuText(undefined, null, NOW)).toBeNull();
    const longer = idleFor(120, { gpu_idle_longer: true });
    expect(idleGpuText(longer, null, NOW)).toBe('GPU idle for more than 2 h');
  });

  it('is hidden after “Keep”, until the GPU was used again', () => {
    expect(idleGpuText(idleFor(25), NOW - 60_000, NOW)).toBeNull();
    expect(idleGpuText(idleFor(25), NOW - 3_600_000, NOW)).not.toBeNull();
  });

  it('is kept for a bounded number of sessions and jobs', () => {
    let kept = {};
    for (let index = 0; index < 60; index++) kept = withKept(kept, `s${index}`, index);
    expect(Object.keys(kept)).toHaveLength(50);
    expect(readKept(JSON.stringify(kept)).s59).toBe(59);
    for (const odd of [null, '', 'null', '[1]', '{"a":"b"}', '{'])
      expect(Object.values(readKept(odd)).filter((at) => typeof at !== 'number')).toEqual([]);
  });
});
