import type { Session } from '@/api/types';
import { Facts } from './Facts';
import { LogLink } from './LogLink';
import classes from './SessionCard.module.css';
import { StartSteps } from './StartSteps';
import { StopButton } from './StopButton';

/** The body of the card of a session that is being submitted or is starting. */
export function StartingBody({ session }: { session: Session }) {
  return (
    <>
      <StartSteps session={session} />
      <Facts session={session} />
      <div className={classes.actions}>
        {session.state === 'starting' && <LogLink id={session.id} />}
        <span className={classes.end}>
          <StopButton session={session} />
        </span>
      </div>
    </>
  );
}
