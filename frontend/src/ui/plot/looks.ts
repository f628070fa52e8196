/** What the pages' colours are to uPlot, which draws on a canvas and knows nothing of CSS variables:
 * asked for anew at each drawing, for they change with the colour scheme. */
import type uPlot from 'uplot';
import { markColour, markDash } from './marks';

function colour(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

export const axisLook = (): uPlot.Axis => ({
  stroke: colour('--quiet'),
  grid: { stroke: colour('--line'), width: 1 },
  ticks: { show: false },
});

export const lineLook = (mark: number): Pick<uPlot.Series, 'stroke' | 'dash'> => ({
  stroke: colour(markColour(mark)),
  dash: markDash(mark),
});
