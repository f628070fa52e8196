/** The common parts of charts of lines: the cursor, the legend and isolated points. */
import type uPlot from 'uplot';
import { markBorder } from './marks';
import { findIsolated, indexUpTo, type TimeSeries, type Value } from './series';
import { cssColor, lineStyle } from './styles';
import type { PlotUnit } from './units';

/** The number of a series' mark: its own, or its position. */
export const markOf = ({ mark }: TimeSeries, index: number): number => mark ?? index;

export const lineColors = (series: readonly TimeSeries[]): string[] =>
  series.map((line, index) =>
    line.color === undefined ? lineStyle(markOf(line, index)).stroke : cssColor(line.color),
  );

/** Show each series' last value while the pointer is elsewhere. */
function announceLast(plot: uPlot): void {
  if (plot.cursor.idx != null) return;
  const last = plot.data[0].length - 1;
  plot.setLegend({ idxs: plot.data.map((values) => indexUpTo(values, last)) }, false);
}

export const LAST_HOOKS = { ready: [announceLast], setCursor: [announceLast] };

/** Return the cursor: a series without a point below it shows its one before. */
export const lineCursor = (
  lines: readonly (readonly Value[])[],
  syncKey: string | undefined,
): uPlot.Cursor => ({
  y: false,
  drag: { x: false, y: false },
  dataIdx: (_plot, line, closest) =>
    line === 0 ? closest : indexUpTo(lines[line - 1] ?? [], closest),
  ...(syncKey === undefined ? {} : { sync: { key: syncKey, setSeries: false } }),
});

export const lineLegend = (series: readonly TimeSeries[], colors: readonly string[]) => ({
  markers: {
    stroke: (_plot: uPlot, line: number): string => colors[line - 1] ?? '',
    dash: (_plot: uPlot, line: number) => {
      const own = series[line - 1];
      return markBorder(own === undefined ? line - 1 : markOf(own, line - 1)).borderTopStyle;
    },
  },
});

export function lineOptions(
  line: TimeSeries,
  index: number,
  color: string,
  unit: PlotUnit,
): uPlot.Series {
  return {
    ...lineStyle(markOf(line, index)),
    stroke: color,
    label: line.label,
    width: 1.75,
    points: { show: false, filter: findIsolated(line.values), size: 5, fill: color },
    value: (_plot, value: number | null | undefined) =>
      value === null || value === undefined ? '–' : unit.text(value),
  };
}
