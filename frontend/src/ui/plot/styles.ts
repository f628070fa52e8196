/**
 * The pages' colors and font for uPlot, which draws on a canvas without CSS variables. Read again for each
 * drawing, because they change with the color scheme.
 */
import type uPlot from 'uplot';
import { markColor, markDash, markStripes } from './marks';

export function cssColor(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

/** Return the pages' font at a size in CSS pixels. */
export const plotFont = (sizePx: number): string =>
  `${sizePx}px ${getComputedStyle(document.body).fontFamily}`;

export const axisStyle = (): uPlot.Axis => ({
  font: plotFont(12),
  labelFont: plotFont(12),
  stroke: cssColor('--quiet'),
  grid: { stroke: cssColor('--line'), width: 1 },
  ticks: { show: false },
});

export const lineStyle = (mark: number): { stroke: string; dash: number[] } => ({
  stroke: cssColor(markColor(mark)),
  dash: markDash(mark),
});

/** Return the fill of the mark's bars: its color, with the stripes of `markFill` if it has any. The
 * gaps are opaque, because bars are drawn over each other. */
export function markPattern(mark: number): string | CanvasPattern {
  const color = cssColor(markColor(mark));
  const stripes = markStripes(mark);
  if (stripes === undefined) return color;
  const ratio = devicePixelRatio;
  const tile = document.createElement('canvas');
  [tile.width, tile.height] = [Math.round(stripes.period * ratio), 1];
  const context = tile.getContext('2d');
  if (context === null) return color;
  context.fillStyle = cssColor('--surface');
  context.fillRect(0, 0, tile.width, 1);
  context.fillStyle = color;
  context.fillRect(0, 0, Math.round(stripes.length * ratio), 1);
  return context.createPattern(tile, 'repeat') ?? color;
}
