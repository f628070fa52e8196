import { describe, expect, it } from 'vitest';
import type { SessionUsage } from './types';
import { totals, usageNote } from './usage';

const ASKED = { cpus: 4, memory_gb: 8, gpus: 2 };

/** A response of GET /sessions/{id}/use, from a node with two GPUs. */
const MEASURED: SessionUsage = {
  reported_at: '2026-11-22T09:00:00Z',
  step_s: 10,
  at: [1795337380, 1795337390, 1795337400],
  memory_mb: [512, 6144, 2048],
  cpus: [null, 1.5, 2.5],
  memory_limit_mb: 8192,
  memory_killed_at: null,
  gpus: [
    { name: 'V100', use_percent: [0, 90, 40], memory_mb: [0, 16384, 8192], memory_total_mb: 32768 },
    { name: 'V100', use_percent: [0, 10, 5], memory_mb: [0, 100, 100], memory_total_mb: 32768 },
  ],
  total: null,
};

const NOTHING: SessionUsage = {
  ...MEASURED,
  reported_at: null,
  step_s: null,
  at: [],
  memory_mb: [],
  cpus: [],
  memory_limit_mb: null,
  memory_killed_at: null,
  gpus: null,
};

const NOW = Date.parse('2026-11-22T09:00:30Z');

describe('a missing measurement', () => {
  it('has a reason', () => {
    expect(usageNote(NOTHING, { state: 'running' }, NOW)).toContain('half a minute');
    expect(usageNote(NOTHING, { state: 'ended' }, NOW)).toBe('No usage was measured while it ran.');
    expect(usageNote(MEASURED, { state: 'running' }, NOW)).toBeNull();
    expect(usageNote(MEASURED, { state: 'running' }, NOW + 300_000)).toBe(
      'No new data from its node for 5 min.',
    );
    expect(usageNote(MEASURED, { state: 'ended' }, NOW + 300_000)).toBeNull();
  });
});

describe('accounting', () => {
  it('is shown as far as it is known', () => {
    const accounting = {
      elapsed_s: 5400,
      cpu_s: 600,
      cpu_efficiency: 0.028,
      max_rss_gb: 1.5,
      memory_too_short: false,
      restarts: 0,
    };
    expect(totals(accounting, ASKED)).toEqual([
      ['Time', '1 h 30 min'],
      ['Peak memory', '1.5 GB of 8 GB'],
      ['CPU time', '10 min'],
      ['CPU utilization', '3 %'],
    ]);
    const bare = {
      elapsed_s: 60,
      cpu_s: null,
      cpu_efficiency: null,
      max_rss_gb: null,
      memory_too_short: false,
      restarts: 0,
    };
    expect(totals(bare, ASKED)).toEqual([['Time', '1 min']]);
  });
});
