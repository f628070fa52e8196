import { describe, expect, it } from 'vitest';
import {
  axisOf,
  clusterColumns,
  distinguishingNames,
  figureText,
  firstTemplate,
  hardwareText,
  keyOf,
  measuresOf,
  runColumn,
  sameText,
  toFacets,
  toLines,
} from './figures';
import type { BenchmarkRun, ClusterFigure, Labels } from './queries';
import { readBenchmarksSearch } from './search';

const figure = (labels: Labels, over: Partial<ClusterFigure> = {}): ClusterFigure => ({
  template: 'bench-matmul',
  title: 'Matmul',
  gpu_type: 'v100',
  gpus: 1,
  nodes: 1,
  labels,
  measure: 'GFLOPS',
  unit: 'GFLOPS',
  better: 'higher',
  best: 20,
  median: 10,
  runs: 3,
  users: 2,
  last_at: '2026-01-01T00:00:00Z',
  ...over,
});

const run = (labels: Labels, value: number): BenchmarkRun => ({
  id: 'a',
  name: 'Mine',
  template: 'bench-matmul',
  title: 'Matmul',
  parameters: {},
  gpu_type: null,
  gpus: 0,
  nodes: 1,
  node: 'node01',
  partition: 'cpu',
  device: 'CPU',
  ended_at: '2026-01-01T00:00:00Z',
  figures: [{ labels, measure: 'GFLOPS', unit: 'GFLOPS', better: 'higher', value }],
});

describe('columns', () => {
  it("are the hardware of the cluster, and one's runs", () => {
    const all = [figure({ size: 64 }), figure({ size: 64 }, { gpus: 2, users: 1, runs: 1 })];
    expect(clusterColumns(all, 'GFLOPS').map(({ name, detail }) => [name, detail])).toEqual([
      ['v100', 'median of 3 runs by 2 users'],
      ['2 × v100', 'median of 1 run by 1 user'],
    ]);
    expect(clusterColumns(all, 'ms')).toEqual([]);
    const mine = runColumn(run({ size: 64 }, 5), 'GFLOPS', Date.parse('2026-01-02T00:00:00Z'));
    expect(mine.detail).toMatch(/^no GPU on node01, /);
    expect(mine.values.get(keyOf({ size: 64 }))).toBe(5);
  });

  it('name their hardware', () => {
    expect(hardwareText({ gpu_type: null, gpus: 1, nodes: 1 })).toBe('GPU of unknown type');
    expect(hardwareText({ gpu_type: 'a100', gpus: 8, nodes: 2 })).toBe('8 × a100 on 2 nodes');
    expect(hardwareText({ gpu_type: null, gpus: 0, nodes: 2 })).toBe('no GPU on 2 nodes');
  });
});

describe('rows', () => {
  it('keep words as they come and sort numbers, whatever order the labels have', () => {
    const lines = toLines([
      { precision: 'fp64', size: 4096 },
      { precision: 'fp64', size: 512 },
      { size: 512, precision: 'fp16' },
      { precision: 'fp16', size: 512 },
    ]);
    expect(lines.map(({ labels }) => [labels.precision, labels.size])).toEqual([
      ['fp64', 512],
      ['fp64', 4096],
      ['fp16', 512],
    ]);
  });
});

it('labels that are the same in all rows are shown once', () => {
  const lines = toLines([
    { precision: 'fp16', size: 64, tf32: false },
    { precision: 'fp32', size: 64, tf32: false },
  ]);
  expect(distinguishingNames(lines)).toEqual(['precision']);
  expect(sameText(lines)).toBe('size 64, tf32 no');
  expect(sameText(toLines([{ size: 64 }]))).toBe('');
});

describe('pictures', () => {
  const lines = toLines([
    { precision: 'fp32', size: 64, tf32: false },
    { precision: 'fp32', size: 128, tf32: false },
    { precision: 'fp16', size: 64, tf32: false },
  ]);

  it('have the most varied number as axis, and a facet for each of the rest', () => {
    expect(axisOf(lines)).toBe('size');
    expect(toFacets(lines).map(({ title, lines: own }) => [title, own.length])).toEqual([
      ['fp32', 2],
      ['fp16', 1],
    ]);
  });

  it('are bars if there is only one position', () => {
    const words = toLines([{ pattern: 'sequential' }, { pattern: '4K' }]);
    expect(toFacets(words)).toEqual([{ title: '', axis: null, lines: words }]);
  });
});

it('a figure has four significant digits', () => {
  expect([0.123456, 12.3456, 1234.56, 91234].map(figureText)).toEqual([
    '0.1235',
    '12.35',
    '1,235',
    '91,230',
  ]);
});

it('measures are those that any run has', () => {
  const all = measuresOf([run({ size: 1 }, 1)], [figure({}, { measure: 'ms', unit: 'ms' })]);
  expect([...all.keys()]).toEqual(['GFLOPS', 'ms']);
});

it("the user's newest run is the initial selection", () => {
  const names = ['bench-copy', 'bench-matmul', 'bench-net'];
  expect(firstTemplate(names, [run({}, 1)], [])).toBe('bench-matmul');
  expect(firstTemplate(names, [], [figure({}, { template: 'bench-net' })])).toBe('bench-net');
  expect(firstTemplate(names, [], [figure({}, { template: 'gone' })])).toBe('bench-copy');
  expect(firstTemplate([], [], [])).toBeUndefined();
});

it('the address keeps valid parameters', () => {
  expect(readBenchmarksSearch({ template: 'x', measure: 7 })).toEqual({
    template: 'x',
    measure: '7',
  });
  expect(readBenchmarksSearch({ template: '', measure: null })).toEqual({});
});
