import { describe, expect, it } from 'vitest';
import {
  type CurveSettings,
  matchingTags,
  metricCharts,
  type NamedCurves,
  smoothed,
  tagsOf,
  usesSteps,
} from './curves';
import { STEP_AXIS } from './labels';
import { type Curve, curvesInterval } from './queries';

const curve = (tag: string, values: (number | null)[], more: Partial<Curve> = {}): Curve => ({
  run: '',
  tag,
  count: values.length,
  not_finite: values.filter((value) => value === null).length,
  steps: values.map((_, index) => index),
  at: values.map((_, index) => 1000 + 10 * index),
  values,
  ...more,
});

const one = (...curves: Curve[]): NamedCurves[] => [{ id: 'a', name: null, curves }];

const BY_STEP: CurveSettings = { x: 'step', smoothing: 0, logarithmic: false };

const chart = (jobs: NamedCurves[], settings: Partial<CurveSettings> = {}) => {
  const [first] = metricCharts(jobs, tagsOf(jobs), { ...BY_STEP, ...settings });
  if (first === undefined) throw new Error('no chart');
  return first;
};

describe('smoothing', () => {
  it("is TensorBoard's: corrected for its start at zero", () => {
    expect(smoothed([1, 0], 0.5)).toEqual([1, 0.5 / 1.5]);
    expect(smoothed([2, 4, 8], 0)).toEqual([2, 4, 8]);
  });

  it('keeps gaps and constant lines', () => {
    expect(smoothed([1, null, 0], 0.5)).toEqual([1, null, 0.5 / 1.5]);
    expect(smoothed([0.3, null, 0.3], 0.9)).toEqual([0.3, null, 0.3]);
    expect(smoothed([], 0.9)).toEqual([]);
  });
});

describe('a chart of one curve', () => {
  it("is over steps, or over the time since the job's first value", () => {
    const later = curve('loss', [3, 2], { at: [1020, 1050] });
    const jobs = one(later, curve('accuracy', [0]));
    expect(chart(jobs).at).toEqual([0, 1]);
    expect(chart(jobs, { x: 'time' }).at).toEqual([20, 50]);
    expect(chart(jobs).series).toEqual([{ label: 'Value', mark: 0, values: [3, 2] }]);
    expect(chart(jobs).text).toBe('Last value: 2; smallest 2, largest 3.');
  });

  it('has the unsmoothed line behind', () => {
    const { series, raw } = chart(one(curve('loss', [1, 0])), { smoothing: 0.5 });
    expect(raw[0]?.values).toEqual([1, 0]);
    expect(series[0]?.values).toEqual([1, 0.5 / 1.5]);
    expect(chart(one(curve('loss', [1, 0]))).raw).toEqual([]);
  });

  it('has gaps with a remark where values are not finite', () => {
    const { series, text } = chart(one(curve('loss', [1, null, null, null])));
    expect(series[0]?.values).toEqual([1, null, null, null]);
    expect(text).toContain('3 values are not finite');
  });

  it("has gaps on a logarithmic scale for what it can't show", () => {
    const { series, text } = chart(one(curve('loss', [1, 0, -1, null])), { logarithmic: true });
    expect(series[0]?.values).toEqual([1, null, null, null]);
    expect(text).toContain('2 points are not positive');
    expect(text).toContain('1 value is not finite');
  });

  it('sorts steps, and of the same step shows the last value', () => {
    const { at, series } = chart(one(curve('loss', [1, 2, 3], { steps: [5, 1, 5] })));
    expect(at).toEqual([1, 5]);
    expect(series[0]?.values).toEqual([2, 3]);
  });

  it('shows a single value', () => {
    expect(chart(one(curve('loss', [0.5]))).text).toBe('Last value: 0.5.');
  });
});

describe('a chart of several runs', () => {
  it('has a line for each job and run, with the same mark everywhere', () => {
    const curves = [
      curve('loss', [1], { run: 'train' }),
      curve('loss', [2], { run: 'validation' }),
      curve('accuracy', [3], { run: 'validation' }),
    ];
    const jobs = ['a', 'b'].map((id) => ({ id, name: 'same name', curves }));
    const [loss, accuracy] = metricCharts(jobs, tagsOf(jobs), BY_STEP);
    expect(loss?.series.map(({ label, mark }) => [label, mark])).toEqual([
      ['same name · train', 0],
      ['same name · validation', 1],
      ['same name · train (2)', 2],
      ['same name · validation (2)', 3],
    ]);
    expect(accuracy?.series.map(({ mark }) => mark)).toEqual([1, 3]);
    expect(loss?.text).toBe('');
  });

  it('draws hostile names as text in one direction', () => {
    const tag = `\u202e<b>${'長'.repeat(290)}`;
    const { title } = chart(one(curve(tag, [1])));
    expect(title.startsWith('\\u202e<b>長')).toBe(true);
    expect(title).not.toContain('\u202e');
  });
});

describe('metrics', () => {
  it('are found by a part of their name', () => {
    expect(matchingTags(['train/Loss', 'accuracy'], ' loss')).toEqual(['train/Loss']);
  });

  it('are over time if all have the same step', () => {
    expect(usesSteps([curve('loss', [1, 2])])).toBe(true);
    expect(usesSteps([curve('loss', [1, 2], { steps: [0, 0] })])).toBe(false);
    expect(usesSteps([curve('loss', [1])])).toBe(true);
  });

  it('have whole steps on the axis', () => {
    expect(STEP_AXIS.text(1_000_000)).toMatch(/^1\D000\D000$/);
  });
});

describe('the interval of requests', () => {
  const now = Date.parse('2026-11-27T12:00:00Z');
  const running = { state: 'running', ended_at: null } as const;
  const ended = (at: string) => ({ state: 'ended', ended_at: at }) as const;

  it('is longer for files that take long to read', () => {
    expect(curvesInterval([running], undefined, now)).toBe(15_000);
    expect(curvesInterval([running], [{ refresh_s: 60 }], now)).toBe(60_000);
  });

  it('ends shortly after all jobs have', () => {
    const just = ended('2026-11-27T11:59:30Z');
    const before = ended('2026-11-27T11:00:00Z');
    expect(curvesInterval([just, before], [], now)).toBe(15_000);
    expect(curvesInterval([before], [], now)).toBe(false);
  });
});
