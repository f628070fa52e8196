/** Long lists of rows of equal height: only the rows in sight are rendered. */
import { type RefObject, useEffect, useState } from 'react';

interface Range {
  from: number;
  to: number;
}

/** extra rows around the visible ones, so that fast scrolling shows no gap */
const SPARE = 12;

const NO_BOX: RefObject<HTMLElement | null> = { current: null };

/** Return the visible part of the box, or of the window without one: pixels from the window's top. */
function visiblePart(box: HTMLElement | null): { top: number; bottom: number } {
  return box?.getBoundingClientRect() ?? { top: 0, bottom: window.innerHeight };
}

/** Return which of `count` rows, each `rowRem` high, are in sight; only those are rendered. `body`
 * begins with the first row; `box` is the element that scrolls it, by default the window. */
export function useWindowed(
  body: RefObject<HTMLElement | null>,
  count: number,
  rowRem: number,
  box: RefObject<HTMLElement | null> = NO_BOX,
): Range {
  const [range, setRange] = useState<Range>({ from: 0, to: 60 });
  useEffect(() => {
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      const first = body.current?.getBoundingClientRect().top ?? 0;
      const { top, bottom } = visiblePart(box.current);
      const row = remPx() * rowRem;
      const from = Math.max(0, Math.floor((top - first) / row) - SPARE);
      const to = Math.max(0, Math.ceil((bottom - first) / row) + SPARE);
      setRange((now) => (now.from === from && now.to === to ? now : { from, to }));
    };
    const soon = (): void => {
      if (frame === 0) frame = window.requestAnimationFrame(measure);
    };
    const scrolled = box.current ?? window;
    measure();
    scrolled.addEventListener('scroll', soon, { passive: true });
    window.addEventListener('resize', soon);
    // content above the rows may appear and disappear without a scroll or resize event
    const layout = new ResizeObserver(soon);
    layout.observe(document.body);
    return () => {
      layout.disconnect();
      window.cancelAnimationFrame(frame);
      scrolled.removeEventListener('scroll', soon);
      window.removeEventListener('resize', soon);
    };
  }, [body, box, rowRem]);
  const to = Math.min(count, range.to);
  return { from: Math.min(range.from, to), to };
}

/** Scroll a row into sight, with the row before or after it. Rows out of sight are not rendered, so
 * its position is computed. */
export function scrollToRow(
  body: HTMLElement | null,
  row: number,
  rowRem: number,
  box: HTMLElement | null = null,
): void {
  if (!body) return;
  const height = remPx() * rowRem;
  const { top, bottom } = visiblePart(box);
  const at = body.getBoundingClientRect().top + row * height;
  const scroll = (by: number): void => (box ?? window).scrollBy({ top: by });
  if (at < top + height) scroll(at - top - height);
  else if (at + 2 * height > bottom) scroll(at + 2 * height - bottom);
}

const remPx = (): number =>
  Number.parseFloat(window.getComputedStyle(document.documentElement).fontSize) || 16;
