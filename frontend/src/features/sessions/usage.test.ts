import { describe, expect, it } from 'vitest';
import type { SessionUsage } from './types';
import { axisText, charts, cpusText, missingText, remark, rows, totals } from './usage';

const ASKED = { cpus: 4, memory_gb: 8, gpus: 2 };

/** As GET /sessions/{id}/use answers, from a node with two GPUs. */
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
const texts = (use: SessionUsage, live = true, asked = ASKED): string[] =>
  charts(use, asked, live).map(({ text }) => text);

describe('charts', () => {
  it('show what is used now, and the most', () => {
    expect(texts(MEASURED)).toEqual([
      '2 GB of 8 GB used now; peak 6 GB.',
      '2.5 of 4 busy now; 2 on average.',
      '40 % on the busiest one now; peak 90 %.',
      '8 GB on the busiest one now; peak 16 GB.',
    ]);
  });

  it('show past usage in the past tense', () => {
    expect(texts(MEASURED, false)).toEqual([
      'At most 6 GB of 8 GB were used.',
      '2 of 4 busy on average.',
      'Peak: 90 %.',
      'Peak: 16 GB.',
    ]);
  });

  it('reach as high as there is to use', () => {
    const found = charts(MEASURED, ASKED, true);
    expect(found.map(({ most }) => most)).toEqual([8192, 4, 100, 32768]);
    expect(found.map(({ lines }) => lines.map(({ label }) => label))).toEqual([
      ['Memory'],
      ['CPUs'],
      ['GPU 1', 'GPU 2'],
      ['GPU 1', 'GPU 2'],
    ]);
  });

  it('take what was asked for where the node knows no limit, and else leave room', () => {
    const unlimited = { ...MEASURED, memory_limit_mb: null, gpus: null };
    expect(charts(unlimited, ASKED, true)[0]?.most).toBe(8 * 1024);
    const unasked = { ...ASKED, memory_gb: null };
    expect(charts(unlimited, unasked, true)[0]?.most).toBeCloseTo(6144 * 1.2);
    expect(charts(unlimited, unasked, true)[0]?.text).toBe('2 GB used now; peak 6 GB.');
  });

  it('grow with what is beyond what was asked for', () => {
    const busy = { ...MEASURED, cpus: [1, 2, 9] };
    expect(charts(busy, ASKED, true)[1]?.most).toBe(9);
  });

  it('are left out for unmeasured values', () => {
    expect(charts(NOTHING, ASKED, true)).toEqual([]);
    const silent = {
      ...MEASURED,
      memory_mb: [null, null, null],
      cpus: [null, null, null],
      gpus: [{ name: 'X', use_percent: [null, null, null], memory_mb: [1, 2, 3] }],
    };
    expect(charts(silent, ASKED, true).map(({ key }) => key)).toEqual(['gpu-memory']);
    expect(charts(silent, ASKED, true)[0]?.text).toBe('3 MB now; peak 3 MB.');
  });
});

describe('what is absent', () => {
  it('is marked as such', () => {
    expect(missingText(MEASURED, 2)).toEqual([]);
    expect(missingText({ ...MEASURED, gpus: null }, 2)).toEqual([
      'GPU usage unknown: nvidia-smi isn’t available on this node.',
    ]);
    expect(missingText({ ...MEASURED, gpus: null }, 0)).toEqual([]);
    expect(missingText(NOTHING, 2)).toEqual([]);
    const blind = { ...MEASURED, memory_mb: [null, null, null], cpus: [null, null, null] };
    expect(missingText(blind, 2)).toHaveLength(2);
  });

  it('has its reason', () => {
    expect(remark(NOTHING, { state: 'running' }, NOW)).toContain('half a minute');
    expect(remark(NOTHING, { state: 'ended' }, NOW)).toBe('No usage was measured while it ran.');
    expect(remark(MEASURED, { state: 'running' }, NOW)).toBeNull();
    expect(remark(MEASURED, { state: 'running' }, NOW + 300_000)).toBe(
      'No new data from its node for 5 min.',
    );
    expect(remark(MEASURED, { state: 'ended' }, NOW + 300_000)).toBeNull();
  });
});

describe('accounting', () => {
  it('is shown as far as it is known', () => {
    const whole = {
      elapsed_s: 5400,
      cpu_s: 600,
      cpu_efficiency: 0.028,
      max_rss_gb: 1.5,
      memory_too_short: false,
      restarts: 0,
    };
    expect(totals(whole, ASKED)).toEqual([
      ['Time', '1 h 30 min'],
      ['Peak memory', '1.5 GB of 8 GB'],
      ['CPU time', '10 min'],
      ['CPUs in use', '3 %'],
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

describe('a chart as a table', () => {
  it('has its last point, and no more rows than one can read', () => {
    const [memory] = charts(MEASURED, ASKED, true);
    if (memory === undefined) throw new Error('no chart');
    expect(rows(MEASURED.at, memory)).toEqual([
      [1795337380, ['512 MB']],
      [1795337390, ['6 GB']],
      [1795337400, ['2 GB']],
    ]);
    const long = Array.from({ length: 240 }, (_, index) => index);
    const found = rows(long, {
      ...memory,
      lines: [{ label: 'Memory', values: long.map(() => null) }],
    });
    expect(found.length).toBeLessThanOrEqual(30);
    expect(found.at(-1)).toEqual([239, ['–']]);
  });

  it('shows tiny usage as nearly zero', () => {
    expect([0, 0.01, 0.05, 0.51, 9.94, 31.6].map(cpusText)).toEqual([
      '0',
      'less than 0.1',
      '0.1',
      '0.5',
      '9.9',
      '32',
    ]);
  });

  it('begins at nothing', () => {
    expect(axisText(0, 'memory')).toBe('0');
    expect(axisText(50, 'percent')).toBe('50 %');
  });
});
