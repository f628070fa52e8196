import { t } from '@lingui/core/macro';
import type { Session } from '@/api/types';
import { elapsed } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Icon } from '@/ui/icons';
import classes from './StartSteps.module.css';
import { timelineSteps } from './timeline';

const SPOKEN = { done: t`done`, now: t`in progress`, later: t`not yet` };

/** The steps from the click until JupyterLab responds, with their times. */
export function StartSteps({ session }: { session: Session }) {
  const now = useNow();
  return (
    <ol className={classes.steps} aria-label={t`Progress of the start`}>
      {timelineSteps(session, now).map(({ step, label, state, tookMs }) => (
        <li
          key={step}
          className={`${classes.step} ${classes[state]}`}
          aria-current={state === 'now' ? 'step' : undefined}
        >
          <span className={classes.icon} role="img" aria-label={SPOKEN[state]}>
            {state === 'done' && <Icon name="check" size={16} />}
          </span>
          <span>{label}</span>
          <span className={classes.took}>{tookMs !== null && elapsed(tookMs)}</span>
        </li>
      ))}
    </ol>
  );
}
