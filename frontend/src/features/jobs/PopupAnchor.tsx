import type { Ref } from 'react';

interface Props {
  /** pixels from the window's corner */
  x: number;
  y: number;
  ref?: Ref<HTMLSpanElement>;
}

/** The point at which a menu or popover opens. It drops the attributes of a button, such as
 * `aria-expanded`, which Mantine gives to a target. */
export const PopupAnchor = ({ x, y, ref }: Props) => (
  <span ref={ref} style={{ position: 'fixed', left: x, top: y }} />
);
