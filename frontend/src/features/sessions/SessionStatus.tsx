import { Trans } from '@lingui/react/macro';
import { Button, Group } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Session } from '@/api/types';
import { ErrorLine } from '@/features/log/ErrorLine';
import { TensorboardLink } from '@/features/tensorboard/TensorboardLink';
import { toStartLink } from '@/lib/startLink';
import { RemoveButton, StartAgainButton } from './EndedActions';
import { IdleLine } from './IdleLine';
import { endedUnexpectedly, endReason } from './labels';
import { OpenLab } from './OpenLab';
import { QueuedBody } from './QueuedBody';
import { Reason } from './Reason';
import classes from './SessionPage.module.css';
import { SessionTensorboard } from './SessionTensorboard';
import { StartSteps } from './StartSteps';
import { StopButton } from './StopButton';
import { StoppingBody } from './StoppingBody';
import { TerminalMenu } from './TerminalMenu';
import { TimeLeft } from './TimeLeft';

/** A session's state and actions. */
export function SessionStatus({ session }: { session: Session }) {
  switch (session.state) {
    case 'submitting':
    case 'starting':
      return <Starting session={session} />;
    case 'queued':
      return (
        <>
          <StartSteps session={session} />
          <QueuedBody session={session} facts={false} />
        </>
      );
    case 'running':
    case 'suspended':
      return <Running session={session} />;
    case 'stopping':
      return <StoppingBody session={session} />;
    case 'ended':
      return <Ended session={session} />;
  }
}

function Starting({ session }: { session: Session }) {
  return (
    <>
      <StartSteps session={session} />
      {session.reason && <Reason reason={session.reason} suggestion={session.suggestion} />}
      <Group>
        <StopButton session={session} />
      </Group>
    </>
  );
}

function Running({ session }: { session: Session }) {
  return (
    <>
      {session.reason && <Reason reason={session.reason} suggestion={session.suggestion} />}
      <div className={classes.actions}>
        <OpenLab session={session} />
        {session.url && <TerminalMenu session={session} url={session.url} />}
        <TensorboardLink id={session.id} variant="default" />
        <span className={classes.end}>
          <StopButton session={session} />
        </span>
      </div>
      <TimeLeft session={session} />
      <IdleLine session={session} />
      <SessionTensorboard session={session} />
    </>
  );
}

function Ended({ session }: { session: Session }) {
  const navigate = useNavigate();
  return (
    <>
      <Reason reason={endReason(session)} suggestion={session.suggestion} />
      {endedUnexpectedly(session) && session.started_at && (
        <ErrorLine source={{ kind: 'sessions', id: session.id }} endedAt={session.ended_at} />
      )}
      <div className={classes.actions}>
        <StartAgainButton session={session} />
        <Button
          variant="default"
          renderRoot={(props) => <Link to="/start" search={toStartLink(session)} {...props} />}
        >
          <Trans>Edit and start again</Trans>
        </Button>
        {session.started_at && <TensorboardLink id={session.id} variant="subtle" />}
        <RemoveButton id={session.id} onRemoved={() => navigate({ to: '/', replace: true })}>
          <Trans>Remove from the list</Trans>
        </RemoveButton>
      </div>
      <SessionTensorboard session={session} />
    </>
  );
}
