import type { ReactNode } from 'react';
import classes from './Fold.module.css';

interface Props {
  summary: string;
  children: ReactNode;
  open?: boolean;
  /** called when it is opened or closed */
  onTurn?: (open: boolean) => void;
}

/** A collapsible box; only its title is visible until it is opened. */
export function Fold({ summary, children, open, onTurn }: Props) {
  return (
    <details
      className={classes.fold}
      open={open}
      onToggle={(event) => onTurn?.(event.currentTarget.open)}
    >
      <summary>{summary}</summary>
      {children}
    </details>
  );
}
