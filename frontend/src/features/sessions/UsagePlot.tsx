import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import type uPlot from 'uplot';
import { axisStyle, lineStyle } from '@/ui/plot/styles';
import { type Drawing, usePlot } from '@/ui/plot/usePlot';
import classes from './Usage.module.css';
import { axisText, type Chart, timeText, valueText } from './usage';

const HEIGHT_PX = 140;
/** Steps of the time's scale: minutes at least, for seconds aren't shown. */
const STEPS_S = [1, 2, 5, 10, 20, 30, 60, 120, 360, 720, 1440].map((minutes) => minutes * 60);

/** Show the last values while the pointer is elsewhere. */
function announceLast(plot: uPlot): void {
  if (plot.cursor.idx == null) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

function options(chart: Chart): ReturnType<Drawing['options']> {
  const axis = axisStyle();
  return {
    height: HEIGHT_PX,
    padding: [8, 12, 0, 0],
    cursor: { y: false, drag: { x: false, y: false } },
    hooks: { ready: [announceLast], setCursor: [announceLast] },
    scales: { x: { time: true }, y: { range: [0, chart.most] } },
    axes: [
      {
        ...axis,
        size: 28,
        space: 90,
        incrs: STEPS_S,
        values: (_plot, splits) => splits.map(timeText),
      },
      {
        ...axis,
        size: 66,
        splits: [0, chart.most / 2, chart.most],
        values: (_plot, splits) => splits.map((value) => axisText(value, chart.unit)),
      },
    ],
    series: [
      { label: t`Time`, value: (_plot, at) => (at === null ? '' : timeText(at)) },
      ...chart.lines.map(({ label }, index) => ({
        ...lineStyle(index),
        label,
        width: 1.75,
        points: { show: false },
        value: (_plot: uPlot, value: number | null) =>
          value === null ? '' : valueText(value, chart.unit),
      })),
    ],
  };
}

interface Props {
  at: number[];
  chart: Chart;
}

/** The lines of a measured quantity; uPlot comes with it. */
export function UsagePlot({ at, chart }: Props) {
  const drawing = useMemo<Drawing>(
    () => ({
      data: [at, ...chart.lines.map((line) => line.values)],
      options: () => options(chart),
    }),
    [at, chart],
  );
  return <div ref={usePlot(drawing)} className={classes.plot} aria-hidden="true" />;
}
