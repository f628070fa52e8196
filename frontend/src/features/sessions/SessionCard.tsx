import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';
import type { Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { EndedBody } from './EndedBody';
import { stateLabel } from './labels';
import { QueuedBody } from './QueuedBody';
import { RunningBody } from './RunningBody';
import classes from './SessionCard.module.css';
import { StartingBody } from './StartingBody';
import { StoppingBody } from './StoppingBody';

function body(session: Session): ReactNode {
  switch (session.state) {
    case 'submitting':
    case 'starting':
      return <StartingBody session={session} />;
    case 'queued':
      return <QueuedBody session={session} />;
    case 'running':
    case 'suspended':
      return <RunningBody session={session} />;
    case 'stopping':
      return <StoppingBody session={session} />;
    case 'ended':
      return <EndedBody session={session} />;
  }
}

interface Props {
  session: Session;
  /** the level that follows the headings around it */
  level?: 'h2' | 'h3';
}

/** A session in the list: its state, resources and actions. */
export const SessionCard = memo(function SessionCard({ session, level: Heading = 'h3' }: Props) {
  const heading = `session-${session.id}`;
  return (
    <Paper component="article" className={classes.card} aria-labelledby={heading}>
      <div className={classes.head}>
        <Heading className={classes.name} id={heading}>
          <Link to="/sessions/$id" params={{ id: session.id }}>
            {session.name}
          </Link>
        </Heading>
        <span className={classes.environment}>{translateExact(session.environment_title)}</span>
        <span className={classes.chip}>
          <StateChip {...stateLabel(session)} />
        </span>
      </div>
      <div className={classes.body}>
        {session.stale_since && session.state !== 'ended' && (
          <span className={classes.stale}>
            <Trans>
              Last known state: Slurm has not responded since <Time at={session.stale_since} />.
            </Trans>
          </span>
        )}
        {body(session)}
      </div>
    </Paper>
  );
});
