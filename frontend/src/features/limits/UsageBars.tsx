import { UsedBar } from '@/ui/UsedBar';
import classes from './Limits.module.css';
import { originText } from './labels';
import type { EffectiveValue, Usage } from './types';
import { type Bar, bars } from './usage';

interface Props {
  effective: Partial<Record<string, EffectiveValue>>;
  /** null: the usage is unknown */
  use: Usage | null;
  /** whose limits these are: a limit set for this user is shown as “personal limit” */
  user?: string;
  /** omits bars without a limit */
  onlyLimited?: boolean;
}

/** Current usage of each limit as bars. */
export function UsageBars({ effective, use, user, onlyLimited }: Props) {
  const all = bars(effective, use);
  const shown = all.filter((bar) => bar.limited || (bar.known && !onlyLimited));
  return (
    <ul className={classes.bars}>
      {shown.map((bar) => (
        <UsageBar key={bar.key} bar={bar} user={user} />
      ))}
    </ul>
  );
}

function UsageBar({ bar, user }: { bar: Bar; user: string | undefined }) {
  const origin = originText(bar.from, user);
  return (
    <li className={classes.bar}>
      <p>
        <span className={classes.kind}>{bar.label}</span>
        <span>{bar.text}</span>
      </p>
      {bar.share !== null && (
        <div className={classes.track}>
          <UsedBar used={bar.share} total={1} />
        </div>
      )}
      {origin && <span className={classes.origin}>{origin}</span>}
    </li>
  );
}
