import type { ReactNode } from 'react';
import classes from './ScrollBox.module.css';

interface Props {
  label: string;
  /** of the window's height, the most that is shown at once */
  height: `${number}vh`;
  children: ReactNode;
}

/** A frame for a table that may be wider and longer than the page. */
export function ScrollBox({ label, height, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
    <section className={classes.box} style={{ maxHeight: height }} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
