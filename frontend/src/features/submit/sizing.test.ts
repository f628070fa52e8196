import { describe, expect, it } from 'vitest';
import type { Cluster, Sizing } from '@/api/types';
import { toJobDraft } from './request';
import {
  fieldsText,
  hasOtherShape,
  hintTexts,
  isSized,
  suggestedFields,
  withFields,
} from './sizing';

const cluster = {
  name: 'c',
  nodes: [
    {
      name: 'a',
      state: 'IDLE',
      cpus: 8,
      cpus_free: 8,
      memory_gb: 32,
      memory_free_gb: 32,
      gpus: [],
      partitions: ['all'],
    },
  ],
  partitions: [
    { name: 'all', default: true, state: 'UP', max_time_minutes: 600, nodes: ['a'], gpus: [] },
  ],
} as unknown as Cluster;

const base = toJobDraft(
  {
    partition: 'all',
    nodes: 1,
    gpus: 0,
    gpu_type: null,
    cpus: 8,
    memory_gb: 16,
    time_limit_minutes: 240,
    account: null,
    qos: null,
  },
  {},
  cluster,
);

const SIZING: Sizing = {
  runs: 3,
  cpus: { used: 1.23, asked: 8, suggested: 2, exceeded: false },
  memory_gb: { used: 3.1, asked: 16, suggested: 4, exceeded: false },
  time_limit_minutes: { used: 20, asked: 240, suggested: 45, exceeded: false },
};

describe('what earlier runs suggest', () => {
  it('is filled in', () => {
    const fields = suggestedFields(SIZING, base, cluster, undefined);
    expect(fields).toEqual({ cpus: 2, memory_gb: 4, time_limit_minutes: 45 });
    const sized = withFields(base, fields);
    expect(isSized(sized, fields)).toBe(true);
    expect(isSized(base, fields)).toBe(false);
  });

  it('leaves alone what is near enough, and what is unknown', () => {
    const little = { ...SIZING, cpus: null, memory_gb: { ...SIZING.memory_gb, suggested: null } };
    const fields = suggestedFields(little as Sizing, base, cluster, undefined);
    expect(fields).toEqual({ time_limit_minutes: 45 });
    expect(suggestedFields(undefined, base, cluster, undefined)).toEqual({});
  });

  it('is never what this cluster can’t do', () => {
    const much: Sizing = {
      ...SIZING,
      memory_gb: { used: 32, asked: 32, suggested: 64, exceeded: true },
      time_limit_minutes: { used: 600, asked: 600, suggested: 1200, exceeded: true },
    };
    expect(suggestedFields(much, base, cluster, undefined)).toEqual({ cpus: 2 });
  });

  it('notes different GPUs or nodes', () => {
    expect(hasOtherShape(base, base)).toBe(false);
    expect(hasOtherShape({ ...base, nodes: 2 }, base)).toBe(true);
    expect(hasOtherShape({ ...base, node: { ...base.node, gpus: 1 } }, base)).toBe(true);
  });
});

describe('the sentences', () => {
  const fields = suggestedFields(SIZING, base, cluster, undefined);

  it('show usage and numbers that are too large', () => {
    expect(hintTexts(SIZING, fields, 'template')).toEqual([
      'Your last 3 runs used at most 3.1 GB of memory; the template’s own number is 16 GB.',
      'Your last 3 runs kept at most 1.2 CPUs busy on average; the template’s own number is 8 CPUs.',
      'Your last 3 runs took at most 20 min; the template’s own number is 4 h.',
    ]);
    const [one] = hintTexts({ ...SIZING, runs: 1 }, { memory_gb: 4 }, 'job');
    expect(one).toBe('Your last run used 3.1 GB of memory; that job requested 16 GB.');
  });

  it('name runs that ended for lack of resources', () => {
    const short: Sizing = {
      ...SIZING,
      memory_gb: { used: 16, asked: 16, suggested: 32, exceeded: true },
      time_limit_minutes: { used: 240, asked: null, suggested: 480, exceeded: true },
    };
    expect(hintTexts(short, { memory_gb: 32, time_limit_minutes: 480 }, 'job')).toEqual([
      'One of your last runs was ended because 16 GB of memory was not enough.',
      'One of your last runs was ended because 4 h was not enough.',
    ]);
    expect(fieldsText({ memory_gb: 32, cpus: 1, time_limit_minutes: 480 })).toBe(
      '32 GB, 1 CPU, 8 h',
    );
  });
});
