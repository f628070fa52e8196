import classes from './SessionCard.module.css';

/** Why, and what to do about it. */
export function Reason({ reason, advice }: { reason: string; advice: string | null }) {
  return (
    <div>
      <p className={classes.reason}>{reason}</p>
      {advice && <p className={classes.advice}>{advice}</p>}
    </div>
  );
}
