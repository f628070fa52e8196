import { Trans } from '@lingui/react/macro';
import type { Session } from '@/api/types';
import { LogTail } from '@/features/log/LogTail';
import { duration } from '@/lib/time';
import { Time } from '@/ui/Time';
import { StartAgainButton } from './EndedActions';
import { Facts } from './Facts';
import { endedUnexpectedly, endReason } from './labels';
import { Reason } from './Reason';
import classes from './SessionCard.module.css';
import { SessionMenu } from './SessionMenu';
import { SessionTensorboard } from './SessionTensorboard';

function ranFor({ started_at: started, ended_at: ended }: Session): string | null {
  return started && ended ? duration(Date.parse(ended) - Date.parse(started)) : null;
}

/** The body of an ended session's card. */
export function EndedBody({ session }: { session: Session }) {
  const ran = ranFor(session);
  return (
    <>
      <Reason reason={endReason(session)} suggestion={session.suggestion} />
      {endedUnexpectedly(session) && (
        <LogTail source={{ kind: 'sessions', id: session.id }} endedAt={session.ended_at} />
      )}
      <Facts session={session} />
      {session.ended_at && (
        <span className={classes.environment}>
          {ran === null ? (
            <Trans>
              ended <Time at={session.ended_at} relative />
            </Trans>
          ) : (
            <Trans>
              Ran {ran}, ended <Time at={session.ended_at} relative />
            </Trans>
          )}
        </span>
      )}
      <div className={classes.actions}>
        <StartAgainButton session={session} variant="default" px="sm" />
        <SessionMenu session={session} />
      </div>
      <SessionTensorboard session={session} />
    </>
  );
}
