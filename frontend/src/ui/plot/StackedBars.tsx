import { useMemo } from 'react';
import uPlot from 'uplot';
import classes from './Plot.module.css';
import { upperBound } from './series';
import { labeledPeriods, type StackedSeries, stackTops } from './stack';
import { axisStyle, cssColor, markPattern } from './styles';
import { axisText, type PlotUnit } from './units';
import { type Drawing, usePlot } from './usePlot';

const LABEL_PX = 76;
const MAX_BAR_PX = 48;

export interface StackedBarsProps {
  /** the labels of the periods on the axis, the earliest first */
  periods: readonly string[];
  /** from the bottom to the top */
  series: readonly StackedSeries[];
  unit: PlotUnit;
  heightPx: number;
  /** called with the index of the period under the pointer, null for none; must not change */
  onPoint: (period: number | null) => void;
}

function options(props: StackedBarsProps): ReturnType<Drawing['options']> {
  const { periods, series, unit, heightPx, onPoint } = props;
  const axis = axisStyle();
  const paths = uPlot.paths.bars?.({ size: [0.75, MAX_BAR_PX] });
  return {
    height: heightPx,
    padding: [8, 24, 0, 0], // room for the last label, which is centered on its bar
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
    scales: {
      x: { time: false, range: [-0.5, periods.length - 0.5] },
      y: { range: (_plot, _low, high) => [0, upperBound(high ?? 0, undefined, unit.least)] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        splits: (plot) => labeledPeriods(periods.length, Math.floor(plot.width / LABEL_PX)),
        values: (_plot, splits) => splits.map((index) => periods[index] ?? ''),
      },
      {
        ...axis,
        size: 66,
        space: 34,
        values: (_plot, splits) => splits.map((value) => axisText(value, unit)),
      },
    ],
    // the tallest first, so that each bar leaves only its own part of the one before visible
    series: [
      {},
      ...series
        .map(({ color }, index) => ({
          fill: color === undefined ? markPattern(index) : cssColor(color),
          width: 0,
          points: { show: false },
          ...(paths ? { paths } : {}),
        }))
        .reverse(),
    ],
  };
}

/** The canvas of a chart of stacked bars; a separate module, because it includes uPlot. */
export function StackedBars(props: StackedBarsProps) {
  const { periods, series, unit, heightPx, onPoint } = props;
  const drawing = useMemo<Drawing>(
    () => ({
      data: [periods.map((_, index) => index), ...stackTops(series).reverse()],
      options: () => options({ periods, series, unit, heightPx, onPoint }),
    }),
    [periods, series, unit, heightPx, onPoint],
  );
  return <div ref={usePlot(drawing)} className={classes.plot} aria-hidden="true" />;
}
