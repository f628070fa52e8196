import type { ReactNode } from 'react';
import classes from './Fold.module.css';

interface Props {
  summary: string;
  children: ReactNode;
  open?: boolean;
  /** called whenever it is opened or closed */
  onTurn?: (open: boolean) => void;
}

/** A box that shows only its title until it is opened. */
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
