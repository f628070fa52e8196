import { translate } from '@/i18n/translate';
import classes from './SessionCard.module.css';

/** The reason for a state or outcome, and the suggestion. */
export function Reason({ reason, suggestion }: { reason: string; suggestion: string | null }) {
  return (
    <div>
      <p className={classes.reason}>{translate(reason)}</p>
      {suggestion && <p className={classes.suggestion}>{translate(suggestion)}</p>}
    </div>
  );
}
