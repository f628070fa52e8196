import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/types';
import type { Run } from './queries';
import { sections } from './rows';
import { idsOf, readCompareSearch } from './search';

const run = (job: Partial<Job>, metrics: Run['metrics'] = null): Run => ({
  metrics,
  metrics_problem: null,
  job: {
    id: 'a',
    template: 'keras',
    environment_title: 'Keras',
    parameters: {},
    resources: { gpus: 1, gpu_type: 'v100', cpus: 4, memory_gb: 16, time_limit_minutes: 60 },
    submitted_at: '2026-01-01T10:00:00Z',
    started_at: '2026-01-01T10:01:00Z',
    ended_at: '2026-01-01T10:31:00Z',
    nodes: [],
    node: 'n1',
    usage: null,
    exit_code: 0,
    ...job,
  } as Job,
});

const shown = (runs: Run[], all = false): Record<string, Record<string, string[]>> =>
  Object.fromEntries(
    sections(runs, new Map([['keras', 'Keras training']]), all).map(({ title, rows }) => [
      title,
      Object.fromEntries(rows.map(({ label, texts }) => [label, texts])),
    ]),
  );

describe('runs side by side', () => {
  const one = run({ parameters: { lr: 0.1, epochs: 3, words: ['a', 'b'] } }, { loss: 0.25 });
  const other = run(
    {
      parameters: { lr: 0.01, epochs: 3 },
      usage: { memory_too_short: false, max_rss_gb: 4, cpu_efficiency: 0.5, restarts: 0 },
    },
    { loss: null, accuracy: 0.91234 },
  );

  it('show differing rows, and always logged values and usage', () => {
    expect(shown([one, other])).toEqual({
      Parameters: { lr: ['0.1', '0.01'], words: ['a, b', '–'] },
      'Last values': { loss: ['0.25', 'not a number'], accuracy: ['–', '0.9123'] },
      Used: {
        Waited: ['1 min', '1 min'],
        Ran: ['30 min', '30 min'],
        'Share of the time limit': ['50 %', '50 %'],
        'CPU utilization': ['–', '50 %'],
        'Peak memory': ['–', '4 GB'],
        'Share of the requested memory': ['–', '25 %'],
      },
    });
  });

  it('show equal rows on request', () => {
    const all = shown([one, other], true);
    expect(all.Parameters?.epochs).toEqual(['3', '3']);
    expect(all.Requested?.CPUs).toEqual(['4', '4']);
    expect(all['Where it ran']?.Template).toEqual(['Keras training', 'Keras training']);
  });

  it('show no property of all objects as a metric', () => {
    const runs = [run({}, { constructor: 1 }), run({}, { loss: 2 })];
    expect(shown(runs)['Last values']?.constructor).toEqual(['1', '–']);
  });

  it('leave out rows without any value', () => {
    const waiting = run({ started_at: null, ended_at: null, exit_code: null, node: null });
    const result = shown([waiting, waiting], true);
    expect(result.Used).toBeUndefined();
    expect(result['Last values']).toBeUndefined();
    expect(result['Where it ran']).not.toHaveProperty('Node');
  });
});

describe('the address', () => {
  it('has each run once, and no more than eight', () => {
    expect(idsOf('a,b,,a, c')).toEqual(['a', 'b', 'c']);
    expect(idsOf('1,2,3,4,5,6,7,8,9')).toHaveLength(8);
    expect(readCompareSearch({ ids: 'a,a', all: true })).toEqual({ ids: 'a', all: true });
    expect(readCompareSearch({ ids: 7, all: 'yes' })).toEqual({});
  });
});
