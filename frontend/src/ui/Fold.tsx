import type { ReactNode } from 'react';
import classes from './Fold.module.css';

interface Props {
  summary: ReactNode;
  children: ReactNode;
  open?: boolean | undefined;
  /** replaces the style of a box */
  className?: string | undefined;
  /** called when it is opened or closed */
  onToggle?: (open: boolean) => void;
}

/** A collapsible part, by default a box; only its summary is visible until it is opened. */
export function Fold({ summary, children, open, className = classes.box, onToggle }: Props) {
  return (
    <details
      className={`${classes.fold} ${className}`}
      open={open}
      onToggle={(event) => onToggle?.(event.currentTarget.open)}
    >
      <summary>{summary}</summary>
      {children}
    </details>
  );
}
