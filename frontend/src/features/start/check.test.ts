import { describe, expect, it } from 'vitest';
import type { Cluster, ClusterNode } from '@/api/types';
import { checkResources, type Draft, nameProblem, outlook } from './check';

const node = (name: string, over: Partial<ClusterNode> = {}): ClusterNode => ({
  name,
  state: 'idle',
  reason: null,
  cpus: 8,
  cpus_free: 8,
  memory_gb: 32,
  memory_free_gb: 32,
  gpus: [{ type: 'v100', total: 4, free: 4 }],
  partitions: ['gpu'],
  ...over,
});

const cluster: Cluster = {
  name: 'test',
  notice: null,
  at: '2026-01-01T00:00:00Z',
  stale_since: null,
  partitions: [
    {
      name: 'gpu',
      default: true,
      state: 'up',
      max_time_minutes: 1440,
      nodes: ['n1', 'n2'],
      gpus: [{ type: 'v100', total: 8, free: 5 }],
    },
    { name: 'cpu', default: false, state: 'up', max_time_minutes: null, nodes: ['n3'], gpus: [] },
    { name: 'old', default: false, state: 'down', max_time_minutes: null, nodes: ['n3'], gpus: [] },
  ],
  nodes: [
    node('n1', { gpus: [{ type: 'v100', total: 4, free: 1 }], cpus_free: 2 }),
    node('n2', { cpus: 4, cpus_free: 4 }),
    node('n3', { gpus: [], cpus: 16, memory_gb: 64, partitions: ['cpu'] }),
  ],
  gpus: [{ type: 'v100', total: 8, free: 5 }],
  gpu_memory_gb: {},
  presets: [],
};

const draft = (over: Partial<Draft> = {}): Draft => ({
  partition: 'gpu',
  gpus: 1,
  gpu_type: 'v100',
  cpus: 2,
  memory_gb: 4,
  time_limit_minutes: 240,
  ...over,
});

const check = (over: Partial<Draft>, gpu: 'none' | 'optional' | 'required' = 'optional') =>
  checkResources(draft(over), cluster, { title: 'PyTorch', gpu });

describe('checkResources', () => {
  it('lets a possible request pass', () => {
    expect(check({})).toEqual({});
    expect(check({ gpus: 4, cpus: 8, memory_gb: 32, time_limit_minutes: 1440 })).toEqual({});
    expect(check({ partition: null })).toEqual({});
  });

  it('refuses more GPUs than any one node has, though the partition has them', () => {
    expect(check({ gpus: 5 })).toEqual({ gpus: 'No node of gpu has more than 4 v100 GPUs.' });
  });

  it('refuses a GPU type or GPUs the partition lacks', () => {
    expect(check({ gpu_type: 'a100' })).toEqual({ gpu_type: 'gpu has no a100; it has v100.' });
    expect(check({ partition: 'cpu', gpu_type: null })).toEqual({
      gpus: 'The nodes of cpu have no GPUs. Choose a partition that has: gpu.',
    });
  });

  it('does not mind the type when no GPU is asked for', () => {
    expect(check({ partition: 'cpu', gpus: 0, gpu_type: 'a100' })).toEqual({});
  });

  it('refuses CPUs and memory beyond the nodes that have the GPUs', () => {
    expect(check({ cpus: 9 })).toEqual({ cpus: 'A node with 1 GPU has at most 8 CPUs.' });
    expect(check({ memory_gb: 33 })).toEqual({ memory_gb: 'A node with 1 GPU has at most 32 GB.' });
  });

  it('adds up: the node with the CPUs must also have the memory', () => {
    const small = { ...cluster, nodes: [node('n1', { memory_gb: 8 }), node('n2', { cpus: 4 })] };
    expect(checkResources(draft({ cpus: 8, memory_gb: 16 }), small, undefined)).toEqual({
      memory_gb: 'A node with 1 GPU has at most 8 GB.',
    });
  });

  it('refuses more time than the partition allows, and knows partitions without a limit', () => {
    expect(check({ time_limit_minutes: 1441 })).toEqual({
      time_limit_minutes: 'gpu allows at most 24 h.',
    });
    expect(check({ partition: 'cpu', gpus: 0, time_limit_minutes: 99_999 })).toEqual({});
  });

  it('names every empty or senseless field', () => {
    const all = check({ gpus: null, cpus: 0, memory_gb: -1, time_limit_minutes: null });
    expect(Object.keys(all).sort()).toEqual(['cpus', 'gpus', 'memory_gb', 'time_limit_minutes']);
    expect(check({ gpus: 1.5 }).gpus).toMatch(/whole number/);
    expect(check({ gpus: -1 }).gpus).toMatch(/whole number/);
  });

  it('knows what the environment needs', () => {
    expect(check({ gpus: 0 }, 'required')).toEqual({ gpus: 'PyTorch needs at least one GPU.' });
  });

  it('refuses partitions that are unknown or closed', () => {
    expect(check({ partition: 'nope' })).toEqual({ partition: 'Choose a partition.' });
    expect(check({ partition: 'old', gpus: 0 }).partition).toMatch(/does not accept jobs/);
  });
});

describe('outlook', () => {
  it('sees a node that has everything free', () => {
    expect(outlook(draft({ gpus: 4 }), cluster)).toBe('now');
  });

  it('needs one node to have all of it', () => {
    expect(outlook(draft({ gpus: 2, cpus: 8 }), cluster)).toBe('wait');
  });

  it('does not count nodes out of service, whatever flags Slurm adds', () => {
    const down = {
      ...cluster,
      nodes: [node('n1', { state: 'idle+drain' }), node('n2', { state: 'down*' })],
    };
    expect(outlook(draft(), down)).toBe('down');
  });
});

describe('nameProblem', () => {
  it.each(['', 'a', 's1', 'my-model-2'])('accepts %j', (name) => {
    expect(nameProblem(name, ['other'])).toBeNull();
  });

  it.each(['1a', 'A', 'a_b', 'a--b', 'a-', 'a b', '../a', 'a'.repeat(31)])('refuses %j', (name) => {
    expect(nameProblem(name, [])).not.toBeNull();
  });

  it('refuses a name that is in use', () => {
    expect(nameProblem('s1', ['s1'])).toBe('You already have a session called s1.');
  });
});
