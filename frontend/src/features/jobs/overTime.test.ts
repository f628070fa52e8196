import { describe, expect, it } from 'vitest';
import { isDrawable, type JobUsageOverTime, overTimeNote, refreshInterval } from './overTime';

const START = '2026-11-22T09:00:00Z';
const startMs = Date.parse(START);
const running = { state: 'running', started_at: START, ended_at: null } as const;
const ended = (seconds: number) =>
  ({
    state: 'ended',
    started_at: START,
    ended_at: new Date(startMs + seconds * 1000).toISOString(),
  }) as const;

const usage = (...afterS: number[]): JobUsageOverTime => ({
  nodes: [
    {
      node: 'n1',
      step_s: 10,
      at: afterS.map((after) => startMs / 1000 + after),
      memory_mb: afterS.map(() => 1),
      cpus: afterS.map(() => 1),
      memory_limit_mb: null,
      gpus: null,
      memory_killed_at: null,
    },
  ],
  nodes_left_out: 0,
  measured: true,
});

const NOTHING: JobUsageOverTime = { nodes: [], nodes_left_out: 0, measured: true };

describe('the note on usage over time', () => {
  it('is absent if charts show all of it', () => {
    expect(isDrawable(usage(1, 3))).toBe(true);
    expect(overTimeNote(running, usage(1, 3), startMs + 5000)).toBeNull();
    expect(overTimeNote(ended(60), usage(1, 3), startMs + 900_000)).toBeNull();
  });

  it('says why there is no chart', () => {
    expect(overTimeNote(running, NOTHING, startMs + 5000)).toContain('a few seconds after');
    expect(overTimeNote(running, NOTHING, startMs + 90_000)).toContain('not measured');
    expect(overTimeNote(ended(3), usage(1), startMs + 90_000)).toContain('too short');
    expect(overTimeNote(ended(600), NOTHING, startMs + 900_000)).toContain('was not measured');
    const off = { ...NOTHING, measured: false };
    expect(overTimeNote(ended(1), off, startMs + 2000)).toContain('was not measured');
  });

  it('names nodes that are left out, and old data', () => {
    const more = { ...usage(1, 3), nodes_left_out: 2 };
    expect(overTimeNote(running, more, startMs + 5000)).toBe('2 more nodes are not shown.');
    expect(overTimeNote(running, usage(1, 3), startMs + 303_000)).toBe(
      'No new data from its nodes for 5 min.',
    );
  });
});

describe('requests', () => {
  it('are not more frequent than points', () => {
    expect(refreshInterval(running, undefined, startMs)).toBe(10_000);
    const slow = usage(1, 3);
    slow.nodes = slow.nodes.map((node) => ({ ...node, step_s: 80 }));
    expect(refreshInterval(running, slow, startMs)).toBe(80_000);
  });

  it('end a minute after the job', () => {
    expect(refreshInterval(ended(10), usage(1), startMs + 30_000)).toBe(10_000);
    expect(refreshInterval(ended(10), usage(1), startMs + 80_000)).toBe(false);
  });
});
