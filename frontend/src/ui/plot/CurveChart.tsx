import type { ReactNode } from 'react';
import { lazyPart } from '../lazyPart';
import { ChartFigure } from './ChartFigure';
import { ChartTable } from './ChartTable';
import type { CurvePlotProps } from './CurvePlot';
import classes from './Plot.module.css';

const CurvePlot = lazyPart(async () => (await import('./CurvePlot')).CurvePlot);

const HEIGHT_PX = 200;
const LEGEND_PX = 28;

interface Props extends Omit<CurvePlotProps, 'heightPx'> {
  title: string;
  text?: ReactNode;
}

/** Curves over steps or time, as a chart and as a table. The properties must be the same objects
 * until they change: the chart is drawn again for new ones. */
export function CurveChart({ title, text, ...plot }: Props) {
  const { axis, at, series, unit } = plot;
  return (
    <ChartFigure
      title={title}
      text={text}
      heightPx={HEIGHT_PX + LEGEND_PX}
      plot={<CurvePlot heightPx={HEIGHT_PX} {...plot} />}
      table={
        <div className={classes.wide}>
          <ChartTable heading={axis.label} at={at} atText={axis.text} series={series} unit={unit} />
        </div>
      }
    />
  );
}
