import { describe, expect, it } from 'vitest';
import {
  defaultNames,
  metricAxis,
  metricNames,
  parameterAxes,
  rankedRuns,
  type SweepRun,
  varyingNames,
} from './parallel';

const run = (
  key: string,
  parameters: SweepRun['parameters'],
  metrics: SweepRun['metrics'] = { loss: Number(key) },
): SweepRun => ({ key, label: `Task ${key}`, parameters, metrics });

const axis = (...values: unknown[]) => {
  const runs = values.map((value, index) => run(String(index), { value }));
  const [only] = parameterAxes(runs, ['value']);
  if (only === undefined) throw new Error('no axis');
  return only;
};

describe('runs on parallel axes', () => {
  it('are those with a finite metric, the smallest first', () => {
    const runs = [run('3', {}), run('1', {}), run('2', {}, { loss: null }), run('4', {}, null)];
    expect(rankedRuns(runs, 'loss').map(({ key }) => key)).toEqual(['1', '3']);
  });

  it('have metrics that can be compared', () => {
    const runs = [run('1', {}, { loss: 1, a: 1 }), run('2', {}, { loss: 2, b: null })];
    expect(metricNames(runs)).toEqual(['loss']);
    expect(metricAxis(runs, 'loss').shares).toEqual([0, 1]);
  });

  it('have axes for parameters that vary, a few of many at first', () => {
    const many = (value: number): SweepRun['parameters'] =>
      Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`p${index}`, value]));
    const runs = [run('1', { ...many(1), same: 1 }), run('2', { ...many(2), same: 1 })];
    const varying = varyingNames(runs);
    expect(varying).toHaveLength(500);
    expect(defaultNames(varying)).toEqual(['p0', 'p1', 'p2', 'p3', 'p4']);
  });

  it('take no property of all objects for a parameter', () => {
    const runs = [run('1', { constructor: 1 }), run('2', {})];
    expect(varyingNames(runs)).toEqual(['constructor']);
    expect(parameterAxes(runs, ['constructor'])[0]?.texts).toEqual(['1', '–']);
  });
});

describe('an axis', () => {
  it('of numbers is linear', () => {
    expect(axis(2, 4, 3).shares).toEqual([0, 1, 0.5]);
    expect(axis(2, 4, 3).ticks).toEqual([
      { text: '2', share: 0 },
      { text: '3', share: 0.5 },
      { text: '4', share: 1 },
    ]);
  });

  it('of learning rates is logarithmic', () => {
    const { shares } = axis(0.001, 0.1, 0.01);
    expect(shares.map((share) => share?.toFixed(3))).toEqual(['0.000', '1.000', '0.500']);
  });

  it('has no ticks that would overlap', () => {
    expect(axis(0.05, 0.051, 1, 0.99).ticks.map(({ text }) => text)).toEqual(['0.05', '1']);
  });

  it('of many numbers has even ticks', () => {
    const { ticks } = axis(...Array.from({ length: 11 }, (_, index) => index));
    expect(ticks.map(({ text }) => text)).toEqual(['0', '2.5', '5', '7.5', '10']);
  });

  it('of texts has categories, some of many with a tick', () => {
    expect(axis('sgd', 'adam', true).ticks.map(({ text }) => text)).toEqual([
      'adam',
      'sgd',
      'true',
    ]);
    expect(axis(...'abcdefghijklmnop').ticks.length).toBeLessThanOrEqual(7);
  });

  it('has no point for a missing value, and shows hostile text harmlessly', () => {
    const { shares, texts } = axis('', 'b\u202e', null);
    expect(shares).toEqual([null, 0.5, null]);
    expect(texts).toEqual(['–', 'b\\u202e', '–']);
  });
});
