import { describe, expect, it } from 'vitest';
import { linkResources, readStartLink, toStartLink } from './startLink';

describe('readStartLink', () => {
  it('keeps valid parameters', () => {
    const link = { environment: 'pytorch', gpus: 2, gpu_type: 'v100', time_limit_minutes: 60 };
    expect(readStartLink(link)).toEqual(link);
  });

  it('takes a name of digits, which the router reads as a number', () => {
    expect(readStartLink({ environment: 2024 })).toEqual({ environment: '2024' });
  });

  it.each([
    [{ gpus: 'many' }],
    [{ gpus: -1 }],
    [{ gpus: Number.NaN }],
    [{ cpus: { evil: true } }],
    [{ environment: '' }],
    [{ environment: 'x'.repeat(101) }],
    [{ environment: ['a'] }],
    [{ submit: true, name: '<script>' }],
  ])('drops %j', (search) => {
    expect(readStartLink(search)).toEqual({});
  });
});

describe('toStartLink', () => {
  it('round-trips a whole setup', () => {
    const resources = { partition: 'gpu', gpus: 0, gpu_type: null, cpus: 2, memory_gb: 1.5 };
    const link = toStartLink({ environment: 'r', resources, starter: 'r.ipynb' });
    expect(link).toEqual({
      environment: 'r',
      starter: 'r.ipynb',
      partition: 'gpu',
      gpus: 0,
      cpus: 2,
      memory_gb: 1.5,
    });
    expect(readStartLink({ ...link })).toEqual(link);
    expect(linkResources(link)).toEqual({ partition: 'gpu', gpus: 0, cpus: 2, memory_gb: 1.5 });
  });

  it('names the app with which the session opens', () => {
    const link = toStartLink({ environment: 'python3', resources: {}, app: 'mlflow' });
    expect(link).toEqual({ environment: 'python3', app: 'mlflow' });
  });

  it('has no resources if only an environment is given', () => {
    expect(linkResources({ environment: 'r', starter: 'r.ipynb', app: 'mlflow' })).toBeNull();
  });
});
