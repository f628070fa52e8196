import { describe, expect, it } from 'vitest';
import type { Environment } from '@/api/types';
import { inEnvironmentOrder } from '@/features/environments/queries';
import {
  contentRows,
  favoritesFirst,
  firstAvailable,
  matchesSearch,
  unavailableEnvironmentText,
} from './environments';

const environment = (title: string, framework: string | null, gpu = 'none', available = true) =>
  ({ title, framework, gpu, available }) as Parameters<typeof inEnvironmentOrder>[0][number];

describe('inEnvironmentOrder', () => {
  it('begins with general environments and ends with unavailable ones', () => {
    const all = [
      environment('Digits', 'digits', 'required', false),
      environment('Caffe', 'caffe'),
      environment('R', null),
      environment('Python 2', null),
      environment('PyTorch', 'pytorch', 'optional'),
      environment('Python 3', null, 'optional'),
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

describe('favoritesFirst', () => {
  it('puts the last used environment after the favorites, and moves no unavailable one', () => {
    const all = [
      { name: 'a', available: true },
      { name: 'b', available: true },
      { name: 'c', available: false },
      { name: 'd', available: true },
    ];
    const names = (favorites: string[], last: string | null) =>
      favoritesFirst(all, favorites, last).map((e) => e.name);
    expect(names(['b', 'c', 'gone'], 'd')).toEqual(['b', 'd', 'a', 'c']);
    expect(names([], 'c')).toEqual(['a', 'b', 'c', 'd']);
    expect(names([], null)).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('matchesSearch', () => {
  it('needs every word, in any case', () => {
    for (const search of ['', 'TORCH', 'numpy deep', 'python 3.11', 'optional'])
      expect(matchesSearch(pytorch, search)).toBe(search !== 'optional');
    expect(matchesSearch(pytorch, 'torch tensorflow')).toBe(false);
  });
});

describe('contentRows', () => {
  it('describes an environment, without empty parts', () => {
    expect(contentRows(pytorch)).toContainEqual(['CUDA', '12.1, needs driver 525 or newer']);
    expect(contentRows(pytorch)).toContainEqual(['Packages', 'torch 2.13.0, numpy']);
    const onCpu = contentRows({ ...pytorch, cpu_build: true });
    expect(onCpu).toContainEqual(['GPU', 'Uses none: a build for CPUs']);
    const bare = contentRows({
      ...pytorch,
      cuda: null,
      framework: null,
      packages: [],
      starters: [],
    });
    expect(bare.map(([label]) => label)).toEqual(['Language', 'GPU', 'Runs from']);
    expect(contentRows({ ...pytorch, kernel: false }).map(([label]) => label)).toContain(
      'Notebooks',
    );
  });
});

describe('a requested environment', () => {
  const all = [
    { name: 'r', title: 'R', available: true },
    { name: 'py', title: 'Python', available: true },
    { name: 'old', title: 'Old', available: false },
  ];

  it('is chosen if it is available, else the next one', () => {
    expect(firstAvailable(all, 'py')?.name).toBe('py');
    expect(firstAvailable(all, 'gone', 'old', 'py')?.name).toBe('py');
    expect(firstAvailable(all, undefined, null)?.name).toBe('r');
    expect(firstAvailable([], 'py')).toBeUndefined();
  });

  it('is named if another one is chosen', () => {
    expect(unavailableEnvironmentText(all, null)).toBeNull();
    expect(unavailableEnvironmentText(all, { by: 'setup', name: 'py' })).toBeNull();
    expect(unavailableEnvironmentText(all, { by: 'setup', name: 'gone' })).toMatch(
      /^The setup .*“gone”.*no longer/,
    );
    expect(unavailableEnvironmentText(all, { by: 'link', name: 'gone' })).toMatch(
      /^The link .*“gone”/,
    );
    expect(unavailableEnvironmentText(all, { by: 'setup', name: 'old' })).toMatch(
      /^The setup uses the environment Old, which/,
    );
  });
});
