import classes from './StateChip.module.css';

export type Tone = 'busy' | 'good' | 'waiting' | 'quiet' | 'bad';

export interface StateLabel {
  label: string;
  tone: Tone;
}

/** A state as a word with a dot; the colour never says anything the word doesn't. */
export function StateChip({ tone, label }: StateLabel) {
  return (
    <span className={`${classes.chip} ${classes[tone]}`}>
      <span className={classes.dot} aria-hidden="true" />
      {label}
    </span>
  );
}
