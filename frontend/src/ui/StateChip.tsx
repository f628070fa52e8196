import classes from './StateChip.module.css';
import type { Tone } from './tones';

export interface StateLabel {
  label: string;
  tone: Tone;
}

/** A state as text with a colored dot; the color never adds information. */
export function StateChip({ tone, label }: StateLabel) {
  return (
    <span className={`${classes.chip} ${classes[tone]}`}>
      <span className={classes.dot} aria-hidden="true" />
      {label}
    </span>
  );
}
