import { Trans } from '@lingui/react/macro';
import type { Session } from '@/api/types';
import { duration } from '@/lib/time';
import { Time } from '@/ui/Time';
import { AgainButton, RemoveButton } from './EndedActions';
import { Facts } from './Facts';
import { LogLink } from './LogLink';
import { LogTail } from './LogTail';
import { Reason } from './Reason';
import { SessionBoard } from './SessionBoard';
import classes from './SessionCard.module.css';
import { TensorboardLink } from './TensorboardLink';
import { endReason, wentWrong } from './words';

function ranFor({ started_at: started, ended_at: ended }: Session): string | null {
  return started && ended ? duration(Date.parse(ended) - Date.parse(started)) : null;
}

export function EndedBody({ session }: { session: Session }) {
  const ran = ranFor(session);
  return (
    <>
      <Reason reason={endReason(session)} advice={session.advice} />
      {wentWrong(session) && (
        <LogTail of={{ kind: 'sessions', id: session.id }} endedAt={session.ended_at} />
      )}
      <Facts session={session} />
      {session.ended_at && (
        <span className={classes.environment}>
          {ran === null ? (
            <Trans>
              ended <Time at={session.ended_at} />
            </Trans>
          ) : (
            <Trans>
              Ran {ran}, ended <Time at={session.ended_at} />
            </Trans>
          )}
        </span>
      )}
      <div className={classes.actions}>
        <AgainButton session={session} variant="default" px="sm" />
        <LogLink id={session.id} />
        {session.started_at && <TensorboardLink id={session.id} variant="subtle" />}
        <RemoveButton id={session.id}>
          <Trans>Remove</Trans>
        </RemoveButton>
      </div>
      <SessionBoard session={session} />
    </>
  );
}
