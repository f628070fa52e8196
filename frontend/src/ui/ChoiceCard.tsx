import type { ReactNode } from 'react';
import classes from './ChoiceCard.module.css';

interface Props {
  group: string;
  value: string;
  checked: boolean;
  onChoose: (value: string) => void;
  title: ReactNode;
  children?: ReactNode;
  disabled?: boolean;
}

/** A radio button that looks like a card: arrow keys, one tab stop. */
export function ChoiceCard({ group, value, checked, onChoose, title, children, disabled }: Props) {
  return (
    <label
      className={`${classes.frame} ${classes.card}`}
      data-checked={checked}
      data-disabled={disabled}
    >
      <input
        className={classes.radio}
        type="radio"
        name={group}
        value={value}
        checked={checked}
        disabled={disabled}
        onChange={() => onChoose(value)}
      />
      <span className={classes.text}>
        <span className={classes.title}>{title}</span>
        {children}
      </span>
    </label>
  );
}
