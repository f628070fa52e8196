import { translate } from '@/i18n/translate';
import classes from './SessionCard.module.css';

/** Why, and what to do about it. */
export function Reason({ reason, advice }: { reason: string; advice: string | null }) {
  return (
    <div>
      <p className={classes.reason}>{translate(reason)}</p>
      {advice && <p className={classes.advice}>{translate(advice)}</p>}
    </div>
  );
}
