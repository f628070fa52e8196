import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { featureCircles, layerProblems, readImports } from './imports.js';

describe('layerProblems', () => {
  it.each([
    ['ui/Chip.tsx', 'features/jobs/labels'],
    ['lib/time.ts', 'ui/Time'],
    ['live/store.ts', 'features/home/homeJobs'],
    ['features/jobs/JobPage.tsx', 'app/router'],
    ['features/jobs/JobPage.tsx', 'testing/page'],
  ])('reports that %s imports %s', (file, target) => {
    expect(layerProblems([{ file, target }])).toHaveLength(1);
  });

  it.each([
    ['app/router.tsx', 'features/login/otherTabs'],
    ['main.tsx', 'app/render'],
    ['features/jobs/JobPage.tsx', 'ui/Time'],
    ['ui/Chip.test.tsx', 'features/jobs/labels'],
    ['testing/page.tsx', 'app/router'],
  ])('allows %s to import %s', (file, target) => {
    expect(layerProblems([{ file, target }])).toEqual([]);
  });
});

describe('featureCircles', () => {
  const step = (from, to) => ({ file: `features/${from}/a.ts`, target: `features/${to}/b` });

  it('reports a circle of two features with the imports that close it', () => {
    const found = featureCircles([step('jobs', 'sessions'), step('sessions', 'jobs')]);
    expect(found).toEqual([
      'features import each other: jobs → sessions → jobs\n' +
        '  features/jobs/a.ts imports features/sessions/b\n' +
        '  features/sessions/a.ts imports features/jobs/b',
    ]);
  });

  it('reports a longer circle once', () => {
    expect(featureCircles([step('a', 'b'), step('b', 'c'), step('c', 'a')])).toHaveLength(1);
  });

  it('allows one direction, and imports within a feature', () => {
    expect(
      featureCircles([step('a', 'b'), step('a', 'c'), step('b', 'c'), step('c', 'c')]),
    ).toEqual([]);
  });
});

it('readImports finds static, dynamic and style imports of the sources', () => {
  const imports = readImports(fileURLToPath(new URL('../src', import.meta.url)));
  expect(imports).toContainEqual({ file: 'main.tsx', target: 'app/render' });
  expect(imports).toContainEqual({ file: 'ui/Time.tsx', target: 'lib/time' });
  expect(imports).toContainEqual({
    file: 'ui/StateChip.tsx',
    target: 'ui/StateChip.module.css',
  });
});
