import { type RefObject, useEffect, useState } from 'react';

interface Range {
  from: number;
  to: number;
}

/** rows drawn beyond the visible ones, so that a quick turn of the wheel shows no gap */
const SPARE = 12;

/** Which of `count` rows of `rowRem` each are in sight in the window; only those are drawn. */
export function useWindowed(
  body: RefObject<HTMLElement | null>,
  count: number,
  rowRem: number,
): Range {
  const [range, setRange] = useState<Range>({ from: 0, to: 60 });
  useEffect(() => {
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const row = remPx() * rowRem;
      const from = Math.max(0, Math.floor(-top / row) - SPARE);
      const to = Math.max(0, Math.ceil((window.innerHeight - top) / row) + SPARE);
      setRange((now) => (now.from === from && now.to === to ? now : { from, to }));
    };
    const soon = (): void => {
      if (frame === 0) frame = window.requestAnimationFrame(measure);
    };
    measure();
    window.addEventListener('scroll', soon, { passive: true });
    window.addEventListener('resize', soon);
    // what stands above the rows may come and go, and neither scrolls nor resizes the window
    const layout = new ResizeObserver(soon);
    layout.observe(document.body);
    return () => {
      layout.disconnect();
      window.cancelAnimationFrame(frame);
      window.removeEventListener('scroll', soon);
      window.removeEventListener('resize', soon);
    };
  }, [body, rowRem]);
  const to = Math.min(count, range.to);
  return { from: Math.min(range.from, to), to };
}

export const remPx = (): number =>
  Number.parseFloat(window.getComputedStyle(document.documentElement).fontSize) || 16;
