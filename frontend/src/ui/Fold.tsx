import type { ReactNode } from 'react';
import classes from './Fold.module.css';

interface Props {
  summary: string;
  children: ReactNode;
  open?: boolean;
  /** told whenever it is opened or closed, by whoever it was */
  onTurn?: (open: boolean) => void;
}

/** A box of which only its title is seen until somebody opens it. */
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
