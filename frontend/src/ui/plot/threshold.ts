/** The color of a line near a threshold. */
import type uPlot from 'uplot';
import { NEAR_THRESHOLD, type Threshold } from './series';

type Plot = Pick<uPlot, 'bbox' | 'valToPos'> & {
  ctx: Pick<CanvasRenderingContext2D, 'createLinearGradient'>;
};

/** Return a line's color, which changes at the height where the values are near the threshold. */
export function strokeNear(
  plot: Plot,
  color: string,
  above: string,
  threshold: Threshold,
): CanvasGradient | string {
  const { top, height } = plot.bbox;
  const boundary = plot.valToPos(threshold.value * NEAR_THRESHOLD, 'y', true);
  const share = (boundary - top) / height;
  if (!Number.isFinite(share) || share <= 0) return color;
  const gradient = plot.ctx.createLinearGradient(0, top, 0, top + height);
  const stop = Math.min(1, share);
  gradient.addColorStop(0, above);
  gradient.addColorStop(stop, above);
  gradient.addColorStop(stop, color);
  gradient.addColorStop(1, color);
  return gradient;
}
