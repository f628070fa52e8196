import { describe, expect, it } from 'vitest';
import type { Environment } from '@/api/types';
import { inEnvironmentOrder } from '@/features/environments/queries';
import { contents, favoritesFirst, firstAvailable, isFound, missingText } from './environments';

const one = (title: string, framework: string | null, gpu = 'none', available = true) =>
  ({ title, framework, gpu, available }) as Parameters<typeof inEnvironmentOrder>[0][number];

describe('inEnvironmentOrder', () => {
  it('begins with what serves everybody and ends with what can’t be used', () => {
    const all = [
      one('Digits', 'digits', 'required', false),
      one('Caffe', 'caffe'),
      one('R', null),
      one('Python 2', null),
      one('PyTorch', 'pytorch', 'optional'),
      one('Python 3', null, 'optional'),
    ];
    expect(inEnvironmentOrder(all).map((e) => e.title)).toEqual([
      'Python 3',
      'Python 2',
      'R',
      'Caffe',
      'PyTorch',
      'Digits',
    ]);
  });
});

const pytorch: Environment = {
  name: 'pytorch',
  title: 'PyTorch',
  description: 'For deep learning',
  language: 'python',
  framework: 'pytorch',
  version: '3.11',
  runtime: 'apptainer',
  gpu: 'optional',
  cuda: '12.1',
  min_driver: '525',
  kernel: true,
  packages: ['torch', 'numpy'],
  versions: { torch: '2.13.0' },
  cpu_build: false,
  available: true,
  unavailable_reason: null,
  default_resources: {} as Environment['default_resources'],
  starters: ['pytorch.ipynb'],
};

describe('favouritesFirst', () => {
  it('leaves what can’t be used behind, favourite or not', () => {
    const all = [
      { name: 'a', available: true },
      { name: 'b', available: true },
      { name: 'c', available: false },
    ];
    expect(favoritesFirst(all, ['b', 'c', 'gone']).map((e) => e.name)).toEqual(['b', 'a', 'c']);
  });
});

describe('isFound', () => {
  it('wants every word somewhere, whatever the case', () => {
    for (const typed of ['', 'TORCH', 'numpy deep', 'python 3.11', 'optional'])
      expect(isFound(pytorch, typed)).toBe(typed !== 'optional');
    expect(isFound(pytorch, 'torch tensorflow')).toBe(false);
  });
});

describe('contents', () => {
  it('lists its contents, without empty parts', () => {
    expect(contents(pytorch)).toContainEqual(['CUDA', '12.1, needs driver 525 or newer']);
    expect(contents(pytorch)).toContainEqual(['Packages', 'torch 2.13.0, numpy']);
    const onCpu = contents({ ...pytorch, cpu_build: true });
    expect(onCpu).toContainEqual(['GPU', 'Uses none: a build for CPUs']);
    const bare = contents({ ...pytorch, cuda: null, framework: null, packages: [], starters: [] });
    expect(bare.map(([label]) => label)).toEqual(['Language', 'GPU', 'Runs from']);
    expect(contents({ ...pytorch, kernel: false }).map(([label]) => label)).toContain('Notebooks');
  });
});

describe('an environment that is asked for', () => {
  const all = [
    { name: 'r', title: 'R', available: true },
    { name: 'py', title: 'Python', available: true },
    { name: 'old', title: 'Old', available: false },
  ];

  it('is chosen if it can be used, else the next best', () => {
    expect(firstAvailable(all, 'py')?.name).toBe('py');
    expect(firstAvailable(all, 'gone', 'old', 'py')?.name).toBe('py');
    expect(firstAvailable(all, undefined, null)?.name).toBe('r');
    expect(firstAvailable([], 'py')).toBeUndefined();
  });

  it('is named where another one is chosen', () => {
    expect(missingText(all, null)).toBeNull();
    expect(missingText(all, { by: 'setup', name: 'py' })).toBeNull();
    expect(missingText(all, { by: 'setup', name: 'gone' })).toMatch(
      /^The setup .*“gone”.*no longer/,
    );
    expect(missingText(all, { by: 'link', name: 'gone' })).toMatch(/^The link .*“gone”/);
    expect(missingText(all, { by: 'setup', name: 'old' })).toMatch(
      /^The setup uses the environment Old, which/,
    );
  });
});
