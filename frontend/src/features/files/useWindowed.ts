import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useState } from 'react';

interface Windowed {
  from: number;
  to: number;
  bringIntoSight: (row: number) => void;
}

/** rows drawn beyond the visible ones, so that a quick turn of the wheel shows no gap */
const SPARE = 12;

/** Which of `count` rows of `rowRem` each are in sight in the window; only those are drawn. */
export function useWindowed(
  body: RefObject<HTMLElement | null>,
  count: number,
  rowRem: number,
): Windowed {
  const [top, setTop] = useState(0);
  useEffect(() => {
    // what stands above the rows may come and go, and neither scrolls nor resizes the window
    const layout = new ResizeObserver(() =>
      setTop((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY),
    );
    layout.observe(document.body);
    return () => layout.disconnect();
  }, [body]);
  const row = remPx() * rowRem;
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => row,
    scrollMargin: top,
    scrollPaddingStart: row,
    scrollPaddingEnd: row,
    overscan: SPARE,
  });
  const drawn = rows.getVirtualItems();
  return {
    from: drawn[0]?.index ?? 0,
    to: (drawn.at(-1)?.index ?? -1) + 1,
    bringIntoSight: rows.scrollToIndex,
  };
}

const remPx = (): number =>
  Number.parseFloat(window.getComputedStyle(document.documentElement).fontSize) || 16;
