import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import type uPlot from 'uplot';
import { axisLook, lineLook } from '@/ui/plot/looks';
import { type Drawing, usePlot } from '@/ui/plot/usePlot';
import classes from './Use.module.css';
import { axisText, type Chart, timeText, valueText } from './use';

const HEIGHT_PX = 140;
/** Steps of the time's scale: minutes at least, for seconds aren't shown. */
const STEPS_S = [1, 2, 5, 10, 20, 30, 60, 120, 360, 720, 1440].map((minutes) => minutes * 60);

/** While nobody points at a moment, the last one is told. */
function tellLast(plot: uPlot): void {
  if (plot.cursor.idx == null) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

function options(chart: Chart): ReturnType<Drawing['options']> {
  const axis = axisLook();
  return {
    height: HEIGHT_PX,
    padding: [8, 12, 0, 0],
    cursor: { y: false, drag: { x: false, y: false } },
    hooks: { ready: [tellLast], setCursor: [tellLast] },
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
        ...lineLook(index),
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
export function UsePlot({ at, chart }: Props) {
  const drawing = useMemo<Drawing>(
    () => ({
      data: [at, ...chart.lines.map((line) => line.values)],
      options: () => options(chart),
    }),
    [at, chart],
  );
  return <div ref={usePlot(drawing)} className={classes.plot} aria-hidden="true" />;
}
