import { said } from '@/i18n/said';
import classes from './SessionCard.module.css';

/** Why, and what to do about it. */
export function Reason({ reason, advice }: { reason: string; advice: string | null }) {
  return (
    <div>
      <p className={classes.reason}>{said(reason)}</p>
      {advice && <p className={classes.advice}>{said(advice)}</p>}
    </div>
  );
}
