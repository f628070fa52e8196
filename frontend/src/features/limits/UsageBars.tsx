import classes from './Limits.module.css';
import { originText } from './labels';
import type { EffectiveValue, Usage } from './types';
import { type Bar, bars } from './usage';

interface Props {
  effective: Partial<Record<string, EffectiveValue>>;
  /** null: the usage is unknown */
  use: Usage | null;
  /** the user they belong to, to recognize "own limit" */
  user?: string;
  /** only what is limited */
  plain?: boolean;
}

/** What is used now of what may be used. */
export function UsageBars({ effective, use, user, plain }: Props) {
  const all = bars(effective, use);
  const shown = all.filter((bar) => bar.limited || (bar.known && !plain));
  return (
    <ul className={classes.bars}>
      {shown.map((bar) => (
        <OneBar key={bar.key} bar={bar} user={user} />
      ))}
    </ul>
  );
}

function OneBar({ bar, user }: { bar: Bar; user: string | undefined }) {
  const origin = originText(bar.from, user);
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
