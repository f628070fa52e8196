import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import type uPlot from 'uplot';
import { LAST_HOOKS, lineColors, lineCursor, lineLegend, lineOptions } from './lines';
import classes from './Plot.module.css';
import { type Threshold, type TimeRange, type TimeSeries, upperBound } from './series';
import { axisStyle, cssColor, plotFont } from './styles';
import { strokeNear } from './threshold';
import { axisText, type PlotUnit, TIME_STEPS_S, tickText, timeFormat } from './units';
import { type Drawing, usePlot } from './usePlot';

export interface TimePlotProps {
  /** seconds since 1970, ascending */
  at: readonly number[];
  series: readonly TimeSeries[];
  unit: PlotUnit;
  heightPx: number;
  /** the largest possible value, such as the number of CPUs: the axis ends there if it is near */
  top?: number | undefined;
  threshold?: Threshold | undefined;
  /** the times to show; all by default */
  range?: TimeRange | undefined;
  /** charts with the same key share the cursor */
  syncKey?: string | undefined;
}

/** Draw the threshold with its label, if the axis reaches it. */
function drawThreshold(plot: uPlot, { value, label }: Threshold): void {
  const { ctx, bbox } = plot;
  if (value > (plot.scales.y?.max ?? 0)) return;
  const y = Math.round(plot.valToPos(value, 'y', true));
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = cssColor('--bad');
  ctx.lineWidth = ratio;
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = plotFont(11 * ratio);
  ctx.textAlign = 'right';
  ctx.textBaseline = 'bottom';
  ctx.fillText(label, bbox.left + bbox.width, y - 2 * ratio);
  ctx.restore();
}

function seriesOptions(
  { series, unit, threshold }: TimePlotProps,
  colors: readonly string[],
): uPlot.Series[] {
  return series.map((line, index) => {
    const color = colors[index] ?? '';
    return {
      ...lineOptions(line, index, color, unit),
      ...(threshold && {
        stroke: (plot: uPlot) => strokeNear(plot, color, cssColor('--bad'), threshold),
      }),
    };
  });
}

function axes(unit: PlotUnit): uPlot.Axis[] {
  const axis = axisStyle();
  return [
    {
      ...axis,
      size: 28,
      space: 90,
      incrs: TIME_STEPS_S,
      values: (_plot, splits, _axis, _space, step) => splits.map((at) => tickText(at, step)),
    },
    {
      ...axis,
      size: 66,
      space: 34,
      ...(unit.steps ? { incrs: [...unit.steps] } : {}),
      values: (_plot, splits) => splits.map((value) => axisText(value, unit)),
    },
  ];
}

function options(props: TimePlotProps): ReturnType<Drawing['options']> {
  const { at, heightPx, top, threshold, range, syncKey, unit, series } = props;
  const colors = lineColors(series);
  const timeText = timeFormat(at);
  const yMost = threshold === undefined ? top : Math.max(threshold.value, top ?? 0);
  return {
    height: heightPx,
    padding: [8, 12, 0, 0],
    cursor: lineCursor(
      series.map(({ values }) => values),
      syncKey,
    ),
    hooks: {
      ...LAST_HOOKS,
      draw: threshold === undefined ? [] : [(plot) => drawThreshold(plot, threshold)],
    },
    legend: lineLegend(series, colors),
    scales: {
      x: { time: true, ...(range ? { range: [range[0], range[1]] } : {}) },
      y: { range: (_plot, _low, high) => [0, upperBound(high ?? 0, yMost, unit.least)] },
    },
    axes: axes(unit),
    series: [
      { label: t`Time`, value: (_plot, time) => (time === null ? '' : timeText(time)) },
      ...seriesOptions(props, colors),
    ],
  };
}

/** The canvas of a time chart; a separate module, because it includes uPlot. */
export function TimePlot(props: TimePlotProps) {
  const { at, series, unit, heightPx, top, threshold, range, syncKey } = props;
  const [from, to] = range ?? [];
  // biome-ignore lint/correctness/useExhaustiveDependencies: a range is compared by its values
  const drawing = useMemo<Drawing>(
    () => ({
      data: [[...at], ...series.map((line) => [...line.values])],
      options: () => options({ at, series, unit, heightPx, top, threshold, range, syncKey }),
    }),
    [at, series, unit, heightPx, top, threshold, from, to, syncKey],
  );
  return <div ref={usePlot(drawing)} className={classes.plot} aria-hidden="true" />;
}
