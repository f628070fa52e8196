import type { ReactNode, Ref } from 'react';
import classes from './ScrollBox.module.css';

interface Props {
  label: string;
  /** the maximum height, relative to the window's */
  height?: `${number}vh`;
  children: ReactNode;
  ref?: Ref<HTMLElement>;
}

/** A scrollable frame for a table that may be wider and longer than the page. */
export function ScrollBox({ label, height, children, ref }: Props) {
  return (
    <section
      ref={ref}
      className={classes.box}
      style={{ maxHeight: height }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
      tabIndex={0}
      aria-label={label}
    >
      {children}
    </section>
  );
}
