import classes from './Limits.module.css';
import type { Counting, Use } from './shapes';
import { type Bar, bars } from './use';
import { originText } from './words';

interface Props {
  effective: Partial<Record<string, Counting>>;
  /** null: nobody knows what is used */
  use: Use | null;
  /** whose they are, to tell "own limit" apart */
  person?: string;
  /** only what is limited */
  plain?: boolean;
}

/** What is used now of what may be used. */
export function UseBars({ effective, use, person, plain }: Props) {
  const all = bars(effective, use);
  const shown = all.filter((bar) => bar.limited || (bar.known && !plain));
  return (
    <ul className={classes.bars}>
      {shown.map((bar) => (
        <OneBar key={bar.key} bar={bar} person={person} />
      ))}
    </ul>
  );
}

function OneBar({ bar, person }: { bar: Bar; person: string | undefined }) {
  const origin = originText(bar.from, person);
  return (
    <li className={classes.bar}>
      <p>
        <span className={classes.kind}>{bar.label}</span>
        <span>{bar.text}</span>
      </p>
      {bar.share !== null && (
        <div className={classes.track} aria-hidden="true">
          <div data-full={bar.full} style={{ width: `${100 * bar.share}%` }} />
        </div>
      )}
      {origin && <span className={classes.origin}>{origin}</span>}
    </li>
  );
}
