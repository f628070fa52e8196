import { useComputedColorScheme } from '@mantine/core';
import { type RefObject, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Drawing {
  data: uPlot.AlignedData;
  /** called for each drawing, so that its colors match the color scheme */
  options: () => Omit<uPlot.Options, 'width'>;
}

/** Draw in the element with the ref, at its width. `drawing` must be the same object until the
 * chart changes. */
export function usePlot(drawing: Drawing): RefObject<HTMLDivElement | null> {
  const container = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: its colours are the scheme's
  useEffect(() => {
    const box = container.current;
    if (box === null) return;
    const options = drawing.options();
    const plot = new uPlot({ ...options, width: box.clientWidth }, drawing.data, box);
    const resized = new ResizeObserver(() => {
      plot.setSize({ width: box.clientWidth, height: options.height });
    });
    resized.observe(box);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [drawing, scheme]);
  return container;
}
