import { t } from '@lingui/core/macro';
import type { Session } from '@/api/types';
import { NotifyToggle } from '@/features/notify/NotifyToggle';
import { duration, localTime, utcTime } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Facts } from './Facts';
import { Reason } from './Reason';
import classes from './SessionCard.module.css';
import { StopButton } from './StopButton';

interface Props {
  session: Session;
  /** whether to show the requested resources too */
  facts?: boolean;
}

/** A queued session's reason and expected start, on its card and its page. */
export function QueuedBody({ session, facts = true }: Props) {
  const now = useNow();
  const waited = now - Date.parse(session.submitted_at);
  const estimate = session.estimated_start;
  const estimatedIn = estimate === null ? 0 : Date.parse(estimate) - now;
  return (
    <>
      <Reason
        reason={session.reason ?? t`It is waiting for Slurm to allocate its resources.`}
        suggestion={session.suggestion}
      />
      {facts && <Facts session={session} />}
      <div className={classes.actions}>
        <span className={classes.environment}>
          {t`Waiting for ${{ time: duration(waited) }}`}
          {estimate !== null && estimatedIn > 0 && (
            <>
              {' · '}
              <span title={utcTime(estimate)}>
                {t`expected to start by ${{ time: localTime(estimate, now) }}, in ${{ wait: duration(estimatedIn) }}`}
              </span>
            </>
          )}
        </span>
        <NotifyToggle className={classes.environment} />
        <span className={classes.end}>
          <StopButton session={session} />
        </span>
      </div>
    </>
  );
}
