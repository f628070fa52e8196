import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import type { Cluster, Resources, Template } from '@/api/types';
import {
  checkJob,
  isWellFormed,
  type JobDraft,
  refusalOf,
  toJobDraft,
  toJobResources,
} from './request';
import { findTemplates } from './templates';

const node = (name: string, gpus: number) => ({
  name,
  address: name,
  state: 'IDLE',
  reason: null,
  cpus: 8,
  cpus_free: 8,
  memory_gb: 32,
  memory_free_gb: 32,
  gpus: gpus ? [{ type: 'v100', total: gpus, free: gpus }] : [],
  partitions: ['all'],
});

const cluster = {
  name: 'c',
  nodes: [node('a', 4), node('b', 4), node('c', 0)],
  partitions: [
    {
      name: 'all',
      default: true,
      state: 'UP',
      max_time_minutes: 600,
      nodes: ['a', 'b', 'c'],
      gpus: [{ type: 'v100', total: 8, free: 8 }],
    },
  ],
} as unknown as Cluster;

const asked = { nodes: 2, gpus: 4, cpus: 2, memory_gb: 4, time_limit_minutes: 60 };
const COMPLETED: Resources = {
  ...asked,
  partition: 'all',
  gpu_type: null,
  account: 'site',
  qos: null,
};

describe('resources', () => {
  it('name an account and QOS only where an earlier job did', () => {
    const named = { account: 'physics', qos: 'long' };
    const draft = toJobDraft(COMPLETED, named, cluster);
    expect(toJobResources(draft)).toMatchObject({ ...asked, ...named });
    expect(toJobDraft(COMPLETED, {}, cluster)).toMatchObject({ account: null, qos: null });
  });

  it('are right by themselves or not, whatever the cluster has', () => {
    const draft: JobDraft = toJobDraft(COMPLETED, { gpus: 99 }, cluster);
    expect(isWellFormed(draft)).toBe(true);
    expect(isWellFormed({ ...draft, nodes: null })).toBe(false);
    expect(isWellFormed(toJobDraft(COMPLETED, { cpus: null }, cluster))).toBe(false);
  });

  it('count the nodes that could hold their share', () => {
    const check = (nodes: number | null) =>
      checkJob({ ...toJobDraft(COMPLETED, {}, cluster), nodes }, cluster, undefined);
    expect(check(2)).toEqual({});
    expect(check(3)).toEqual({ nodes: 'all has only 2 nodes with enough resources.' });
    expect(check(null)).toHaveProperty('nodes');
    expect(check(1.5)).toHaveProperty('nodes');
  });
});

describe('refusalOf', () => {
  const error = (...fields: [string, string][]) =>
    new ApiError(
      422,
      'invalid-input',
      'Some of this is wrong.',
      fields.map(([field, message]) => ({ field, message })),
    );

  it('puts each message to its field, also where names are alike', () => {
    const refusal = refusalOf(
      error(['parameters.name', 'p'], ['name', 'n'], ['resources.cpus', 'c']),
      ['name'],
      ['name', 'logdir'],
    );
    expect(refusal).toEqual({
      parameters: { name: 'p' },
      resources: { cpus: 'c' },
      others: { name: 'n' },
      general: null,
    });
  });

  it('announces errors that belong to no field', () => {
    expect(refusalOf(error(['parameters.gone', 'No such parameter.']), [], []).general).toBe(
      'No such parameter.',
    );
    expect(refusalOf(error(), [], []).general).toBe('Some of this is wrong.');
    expect(refusalOf(new TypeError('x'), [], []).general).not.toBeNull();
  });
});

describe('findTemplates', () => {
  const template = (name: string, tags: string[], available = true) =>
    ({ name, title: name, description: '', framework: 'PyTorch', tags, available }) as Template;
  const all = [
    template('bench', ['benchmark']),
    template('gone', ['example'], false),
    template('train', ['training']),
    template('first', ['example', 'training']),
    template('notebook', []),
  ];
  const names = (text: string) => findTemplates(all, text).map((t) => t.name);

  it('begins with examples and ends with what can’t be used', () => {
    expect(names('')).toEqual(['first', 'train', 'notebook', 'bench', 'gone']);
  });

  it('wants every word', () => {
    expect(names('pytorch TRAIN')).toEqual(['first', 'train']);
    expect(names('nothing')).toEqual([]);
  });
});
