import { useMemo } from 'react';
import uPlot from 'uplot';
import { LAST_HOOKS, lineColors, lineCursor, lineLegend, lineOptions } from './lines';
import classes from './Plot.module.css';
import type { TimeSeries } from './series';
import { axisStyle } from './styles';
import type { PlotUnit } from './units';
import { type Drawing, usePlot } from './usePlot';

/** The opacity of a line behind its smoothed one. */
const BEHIND = 0.3;
const EMPTY_RANGE: uPlot.Range.MinMax = [0.1, 10];

export interface CurveAxis {
  label: string;
  text: (at: number) => string;
  /** possible distances of two ticks; powers of ten by default */
  steps?: readonly number[];
}

export interface CurvePlotProps {
  /** ascending: steps, or seconds since the start */
  at: readonly number[];
  axis: CurveAxis;
  series: readonly TimeSeries[];
  /** the same lines before they were smoothed, drawn behind them; empty if they are not */
  raw: readonly TimeSeries[];
  unit: PlotUnit;
  logarithmic: boolean;
  heightPx: number;
  /** charts with the same key share the cursor */
  syncKey?: string | undefined;
}

function yRange(low: number | null, high: number | null, log: boolean): uPlot.Range.MinMax {
  if (low === null || high === null) return EMPTY_RANGE;
  return log ? uPlot.rangeLog(low, high, 10, false) : uPlot.rangeNum(low, high, 0.1, true);
}

function axes({ axis, unit }: CurvePlotProps): uPlot.Axis[] {
  const style = axisStyle();
  return [
    {
      ...style,
      size: 28,
      space: 70,
      ...(axis.steps ? { incrs: [...axis.steps] } : {}),
      values: (_plot, splits) => splits.map(axis.text),
    },
    {
      ...style,
      size: 66,
      space: 34,
      values: (_plot, splits) =>
        splits.map((value: number | null) => (value === null ? '' : unit.text(value))),
    },
  ];
}

function options(props: CurvePlotProps): ReturnType<Drawing['options']> {
  const { axis, series, raw, unit, logarithmic, heightPx, syncKey } = props;
  const lines = [...raw, ...series];
  const colors = lineColors(lines);
  return {
    height: heightPx,
    padding: [8, 16, 0, 0],
    cursor: lineCursor(
      lines.map(({ values }) => values),
      syncKey,
    ),
    hooks: LAST_HOOKS,
    legend: lineLegend(lines, colors),
    scales: {
      x: {
        time: false,
        range: (_plot, low, high) => (low === high ? [low - 1, high + 1] : [low, high]),
      },
      y: {
        distr: logarithmic ? 3 : 1,
        range: (_plot, low, high) => yRange(low, high, logarithmic),
      },
    },
    axes: axes(props),
    series: [
      { label: axis.label, value: (_plot, at) => (at === null ? '' : axis.text(at)) },
      ...lines.map((line, index) => ({
        ...lineOptions(line, index, colors[index] ?? '', unit),
        ...(index < raw.length && { alpha: BEHIND, class: 'raw' }),
      })),
    ],
  };
}

/** The canvas of a chart of curves; a separate module, because it includes uPlot. */
export function CurvePlot(props: CurvePlotProps) {
  const { at, axis, series, raw, unit, logarithmic, heightPx, syncKey } = props;
  const drawing = useMemo<Drawing>(
    () => ({
      data: [[...at], ...[...raw, ...series].map((line) => [...line.values])],
      options: () => options({ at, axis, series, raw, unit, logarithmic, heightPx, syncKey }),
    }),
    [at, axis, series, raw, unit, logarithmic, heightPx, syncKey],
  );
  return <div ref={usePlot(drawing)} className={classes.plot} aria-hidden="true" />;
}
