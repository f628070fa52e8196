import { describe, expect, it } from 'vitest';
import type { JobDetail } from '@/api/types';
import { stages, timelineEvents } from './timelineStages';
import { cpusInUse, suggestionTexts, unknownText, usageRows } from './usageRows';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 10, minute)).toISOString();
const now = Date.parse(at(30));

const job = (over: Partial<JobDetail> = {}): JobDetail =>
  ({
    state: 'ended',
    outcome: 'completed',
    submitted_at: at(0),
    started_at: at(10),
    ended_at: at(20),
    expires_at: null,
    estimated_start: null,
    array: null,
    resources: { nodes: 1, gpus: 0, cpus: 4, memory_gb: 16, time_limit_minutes: 60 },
    usage: {
      elapsed_s: 600,
      longest_s: 600,
      cpu_s: 600,
      cpu_efficiency: 0.25,
      max_rss_gb: 8.5,
      memory_too_short: false,
      restarts: 0,
    },
    ...over,
  }) as JobDetail;

const minutes = (result: ReturnType<typeof stages>) =>
  result.map(({ kind, ms }) => [kind, ms / 60_000]);

describe('the timeline of a job', () => {
  it('shows pending and running with their durations', () => {
    const result = stages(job(), now);
    expect(minutes(result)).toEqual([
      ['waiting', 10],
      ['running', 10],
    ]);
    expect(result.map(({ width }) => Math.round(width))).toEqual([50, 50]);
    expect(timelineEvents(job()).map(({ label }) => label)).toEqual([
      'Submitted',
      'Started',
      'Ended',
    ]);
  });

  it('continues while the job is active', () => {
    const running = job({ state: 'running', outcome: null, ended_at: null, expires_at: at(70) });
    expect(minutes(stages(running, now))).toEqual([
      ['waiting', 10],
      ['running', 20],
      ['left', 40],
    ]);
    expect(timelineEvents(running).at(-1)).toMatchObject({
      label: 'Ends no later than',
      at: at(70),
    });
    const waiting = job({ state: 'queued', started_at: null, ended_at: null });
    expect(minutes(stages(waiting, now))).toEqual([['waiting', 30]]);
    expect(timelineEvents(waiting).at(-1)).toEqual({
      label: 'Expected to start',
      at: null,
      state: 'expected',
    });
  });

  it('shows short stages, and none that took no time', () => {
    const quick = job({ started_at: new Date(Date.parse(at(0)) - 900).toISOString() });
    expect(stages(quick, now)).toMatchObject([{ kind: 'running', width: 100 }]);
    const short = job({ started_at: new Date(Date.parse(at(0)) + 2000).toISOString() });
    const [waiting] = stages(short, now);
    expect(waiting).toMatchObject({ kind: 'waiting', ms: 2000 });
    expect(waiting?.width).toBeGreaterThan(3);
    const none = job({ started_at: at(5), ended_at: at(5) });
    expect(minutes(stages(none, now))).toEqual([['waiting', 5]]);
    expect(minutes(stages(job({ started_at: null, ended_at: at(5) }), now))).toEqual([
      ['waiting', 5],
    ]);
  });
});

describe('the usage of a job', () => {
  it('is shown beside what was requested', () => {
    expect(usageRows(job())).toEqual([
      { label: 'Time', text: '10 min of 1 h', share: 1 / 6 },
      { label: 'CPU utilization', text: '1 of 4', share: 0.25 },
      { label: 'Peak memory', text: '8.5 GB of 16 GB', share: 8.5 / 16 },
    ]);
    expect(usageRows(job({ usage: null }))).toEqual([]);
  });

  it('is that of one node, and for an array of its longest task', () => {
    const { usage, resources } = job();
    expect(cpusInUse({ usage, resources: { ...resources, nodes: 2 } })).toBe(0.5);
    const array = job({ array: { size: 2, counts: {}, tasks: [] } });
    expect(usageRows(array)[0]?.label).toBe('Time of its longest task');
    const old = { ...array, usage: { elapsed_s: 600, memory_too_short: false, restarts: 0 } };
    expect(usageRows(old)).toEqual([]);
  });

  it('names no peak of memory where the job was too short to be measured', () => {
    const usage = { elapsed_s: 4, longest_s: 4, cpu_s: 1, max_rss_gb: null, restarts: 0 };
    const short = job({ usage: { ...usage, memory_too_short: true } });
    expect(usageRows(short).at(-1)).toEqual({
      label: 'Peak memory',
      text: 'too short to measure',
      share: null,
    });
  });

  it('is shown without what was not requested', () => {
    const { resources } = job();
    const open = job({ resources: { ...resources, memory_gb: null, time_limit_minutes: null } });
    expect(usageRows(open).map(({ text, share }) => [text, share])).toEqual([
      ['10 min', null],
      ['1 of 4', 0.25],
      ['8.5 GB', null],
    ]);
  });

  const suggestion = (over: object, more: Partial<JobDetail> = {}) =>
    suggestionTexts(job({ ...more, usage: { ...job().usage, ...over } as JobDetail['usage'] }));

  it('suggests better resources', () => {
    expect(suggestion({ max_rss_gb: 3 })).toEqual([
      'It used less than half of its memory. With less, the next job may start sooner.',
      'More than half of its CPUs were idle. With fewer, the next job may start sooner.',
      'It used less than a quarter of its time limit. With a shorter limit, the next job may start sooner.',
    ]);
    expect(suggestion({ max_rss_gb: 15.5, cpu_s: 2400, longest_s: 1800 })).toEqual([
      'It used almost all of its memory. Request a little more next time.',
    ]);
    expect(suggestion({ cpu_s: 2400, longest_s: 1800 })).toEqual([]);
    expect(suggestion({ cpu_s: 2400 }, { outcome: 'out_of_memory' })[0]).toContain('more memory');
    expect(suggestion({ cpu_s: 2400 }, { outcome: 'timeout' })[0]).toContain('longer time limit');
  });

  it('suggests nothing for jobs that ended at once, are live, or have no known time', () => {
    const short = { elapsed_s: 5, longest_s: 5, cpu_s: 1, max_rss_gb: 0.01 };
    expect(suggestion(short, { outcome: 'failed' })).toEqual([]);
    expect(suggestion({ max_rss_gb: 3 }, { state: 'running' })).toEqual([]);
    expect(suggestion({ cpu_s: null, elapsed_s: null, longest_s: null })).toEqual([]);
  });

  it('marks unknown values', () => {
    expect(unknownText(job())).toBeNull();
    const gpus = job({ resources: { ...job().resources, gpus: 2 } });
    expect(unknownText(gpus)).toContain('GPU utilization');
    expect(unknownText(job({ usage: null, state: 'running' }))).toContain('after it ends');
    expect(unknownText(job({ usage: null }))).toContain('has not reported');
    expect(unknownText(job({ usage: null, started_at: null }))).toBeNull();
  });
});
