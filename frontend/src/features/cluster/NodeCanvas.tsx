import { useComputedColorScheme } from '@mantine/core';
import { type MouseEvent, useEffect, useRef } from 'react';
import { drawBoxes } from './drawBoxes';
import { describeNode } from './labels';
import classes from './NodeMap.module.css';
import { type BoxSize, boxAt, columnsIn, type MapNode } from './nodeMap';

interface Props {
  /** what the picture shows, for screen readers; the table has the nodes */
  label: string;
  nodes: readonly MapNode[];
  size: BoxSize;
  chosen: string | undefined;
  choose: (name: string) => void;
}

/** Hundreds of nodes as small boxes, drawn in one picture: thousands of elements would be slow. */
export function NodeCanvas({ label, nodes, size, chosen, choose }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: its colors are the scheme's
  useEffect(() => {
    const drawn = canvas.current;
    if (drawn === null) return;
    const draw = (): void => drawBoxes(drawn, nodes, size, chosen);
    const resized = new ResizeObserver(draw);
    resized.observe(drawn);
    draw();
    return () => resized.disconnect();
  }, [nodes, size, chosen, scheme]);
  const nodeAt = ({ currentTarget, clientX, clientY }: MouseEvent<HTMLCanvasElement>) => {
    const { left, top, width } = currentTarget.getBoundingClientRect();
    const index = boxAt(clientX - left, clientY - top, columnsIn(width, size), nodes.length, size);
    return index === undefined ? undefined : nodes[index];
  };
  return (
    <canvas
      ref={canvas}
      className={classes.boxes}
      role="img"
      aria-label={label}
      onMouseMove={(event) => {
        const node = nodeAt(event);
        event.currentTarget.title = node ? describeNode(node) : '';
        event.currentTarget.dataset.over = String(node !== undefined);
      }}
      onClick={(event) => {
        const node = nodeAt(event);
        if (node) choose(node.name);
      }}
    />
  );
}
