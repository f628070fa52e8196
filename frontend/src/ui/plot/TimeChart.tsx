import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import { lazyPart } from '../lazyPart';
import { ChartFigure } from './ChartFigure';
import { ChartTable } from './ChartTable';
import type { TimePlotProps } from './TimePlot';
import { timeFormat } from './units';

const TimePlot = lazyPart(async () => (await import('./TimePlot')).TimePlot);

const HEIGHT_PX = 190;
/** The legend's height below the plot. */
const LEGEND_PX = 28;

export interface TimeChartProps extends Omit<TimePlotProps, 'heightPx'> {
  title: string;
  /** the figures as a sentence */
  text?: ReactNode;
  /** of the plot without its legend */
  heightPx?: number;
}

/** Quantities over time, as a chart and as a table. `at`, `series` and `threshold` must be the same
 * objects until they change: the chart is drawn again for new ones. */
export function TimeChart({ title, text, heightPx = HEIGHT_PX, ...plot }: TimeChartProps) {
  return (
    <ChartFigure
      title={title}
      text={text}
      heightPx={heightPx + LEGEND_PX}
      plot={<TimePlot heightPx={heightPx} {...plot} />}
      table={<ChartTable heading={t`Time`} atText={timeFormat(plot.at)} {...plot} />}
    />
  );
}
