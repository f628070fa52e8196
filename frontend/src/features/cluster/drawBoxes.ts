/** Draws the boxes of the dense map: a stripe for each GPU of a node. */
import { cssColor } from '@/ui/plot/styles';
import { type BoxSize, columnsIn, type GpuState, type MapNode, partsOf } from './nodeMap';

/** Finer pixels cost memory, and are not seen. */
const MAX_RATIO = 2;

interface Box {
  x: number;
  y: number;
  side: number;
}

type Colors = Record<GpuState | 'border' | 'chosen', string>;

/** Free parts are light and used ones dark, so that they differ without their colors, too. */
const readColors = (): Colors => ({
  free: cssColor('--good-soft'),
  mine: cssColor('--square-mine'),
  others: cssColor('--square-others'),
  unclear: cssColor('--square-others'),
  out: cssColor('--square-out'),
  border: cssColor('--square-others'),
  chosen: cssColor('--mantine-primary-color-filled'),
});

/** Draw all nodes in rows, at the width of the canvas; its height follows. */
export function drawBoxes(
  canvas: HTMLCanvasElement,
  nodes: readonly MapNode[],
  size: BoxSize,
  chosen: string | undefined,
): void {
  const { side, gap } = size;
  const width = canvas.clientWidth;
  const columns = columnsIn(width, size);
  const height = Math.ceil(nodes.length / columns) * (side + gap);
  const ratio = Math.min(window.devicePixelRatio, MAX_RATIO);
  canvas.style.height = `${height}px`;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const pen = canvas.getContext('2d');
  if (pen === null) return;
  pen.scale(ratio, ratio);
  const colors = readColors();
  nodes.forEach((node, index) => {
    const x = (index % columns) * (side + gap);
    const y = Math.floor(index / columns) * (side + gap);
    drawBox(pen, { x, y, side }, node, colors);
    if (node.name === chosen) outline(pen, { x, y, side }, colors.chosen, 3);
  });
}

function drawBox(pen: CanvasRenderingContext2D, box: Box, node: MapNode, colors: Colors): void {
  const parts = partsOf(node);
  const total = parts.reduce((sum, { share }) => sum + share, 0) || 1;
  let from = 0;
  for (const { state, share } of parts) {
    const [left, right] = [from, from + share].map((at) => (at / total) * box.side);
    pen.fillStyle = colors[state];
    pen.fillRect(box.x + (left ?? 0), box.y, (right ?? 0) - (left ?? 0), box.side);
    from += share;
  }
  outline(pen, box, node.mine ? colors.mine : colors.border, node.mine ? 2 : 1);
  if (node.cpusFree === null) strike(pen, box, colors.free);
}

function outline(pen: CanvasRenderingContext2D, box: Box, color: string, width: number): void {
  pen.strokeStyle = color;
  pen.lineWidth = width;
  pen.strokeRect(box.x + width / 2, box.y + width / 2, box.side - width, box.side - width);
}

/** Cross out a node that is out of service. */
function strike(pen: CanvasRenderingContext2D, { x, y, side }: Box, color: string): void {
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x + 2, y + side - 2);
  pen.lineTo(x + side - 2, y + 2);
  pen.stroke();
}
