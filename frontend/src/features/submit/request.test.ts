import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/problem';
import type { Cluster, ResolvedResources } from '@/api/types';
import { assignErrors, toJobResources, toJobValues } from './request';

const cluster = {
  partitions: [{ name: 'all', default: true }],
} as unknown as Cluster;

const requested = { nodes: 2, gpus: 4, cpus: 2, memory_gb: 4, time_limit_minutes: 60 };
const COMPLETED: ResolvedResources = {
  ...requested,
  partition: 'all',
  gpu_type: null,
  account: 'site',
  qos: null,
};

describe('resources', () => {
  it('have the account and QOS of an earlier job only', () => {
    const explicit = { account: 'physics', qos: 'long' };
    const values = toJobValues(COMPLETED, explicit, cluster);
    expect(toJobResources(values)).toMatchObject({ ...requested, ...explicit });
    expect(toJobValues(COMPLETED, {}, cluster)).toMatchObject({ account: null, qos: null });
  });
});

describe('assignErrors', () => {
  const error = (...fields: [string, string][]) =>
    new ApiError(
      422,
      'invalid-input',
      'Some of this is wrong.',
      fields.map(([field, message]) => ({ field, message })),
    );

  it('assigns each message to its field, even with equal names', () => {
    const errors = assignErrors(
      error(['parameters.name', 'p'], ['name', 'n'], ['resources.cpus', 'c']),
      ['name'],
      ['name', 'logdir'],
    );
    expect(errors).toEqual({
      parameters: { name: 'p' },
      resources: { cpus: 'c' },
      others: { name: 'n' },
      general: null,
    });
  });

  it('combines errors without a field', () => {
    expect(assignErrors(error(['resources.account', 'No such account.']), [], []).general).toBe(
      'No such account.',
    );
    expect(assignErrors(error(['parameters.gone', 'No such parameter.']), [], []).general).toBe(
      'No such parameter.',
    );
    expect(assignErrors(error(), [], []).general).toBe('Some of this is wrong.');
    expect(assignErrors(new TypeError('x'), [], []).general).not.toBeNull();
  });
});
