import type { Tone } from '@/features/sessions/words';
import classes from './StateChip.module.css';

interface Props {
  tone: Tone;
  label: string;
}

/** A state as a word with a dot; the colour never says anything the word doesn't. */
export function StateChip({ tone, label }: Props) {
  return (
    <span className={`${classes.chip} ${classes[tone]}`}>
      <span className={classes.dot} aria-hidden="true" />
      {label}
    </span>
  );
}
