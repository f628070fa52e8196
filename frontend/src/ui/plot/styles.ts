/**
 * The pages' colors for uPlot, which draws on a canvas and knows no CSS variables. Read again at
 * each drawing, because they change with the color scheme.
 */
import type uPlot from 'uplot';
import { markColor, markDash } from './marks';

function cssColor(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

export const axisStyle = (): uPlot.Axis => ({
  stroke: cssColor('--quiet'),
  grid: { stroke: cssColor('--line'), width: 1 },
  ticks: { show: false },
});

export const lineStyle = (mark: number): Pick<uPlot.Series, 'stroke' | 'dash'> => ({
  stroke: cssColor(markColor(mark)),
  dash: markDash(mark),
});
