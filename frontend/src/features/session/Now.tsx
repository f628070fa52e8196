import { Trans } from '@lingui/react/macro';
import { Button, Group } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Session } from '@/api/types';
import { ErrorLine } from '@/features/jobs/ErrorLine';
import { AgainButton, RemoveButton } from '@/features/sessions/EndedActions';
import { IdleLine } from '@/features/sessions/IdleLine';
import { OpenLab } from '@/features/sessions/OpenLab';
import { QueuedBody } from '@/features/sessions/QueuedBody';
import { Reason } from '@/features/sessions/Reason';
import { SessionBoard } from '@/features/sessions/SessionBoard';
import { StartSteps } from '@/features/sessions/StartSteps';
import { StopButton } from '@/features/sessions/StopButton';
import { StoppingBody } from '@/features/sessions/StoppingBody';
import { TensorboardLink } from '@/features/sessions/TensorboardLink';
import { TerminalMenu } from '@/features/sessions/TerminalMenu';
import { TimeLeft } from '@/features/sessions/TimeLeft';
import { endReason, wentWrong } from '@/features/sessions/words';
import { toStartLink } from '@/features/start/link';
import classes from './SessionPage.module.css';

/** How it stands, and what one can do about it. */
export function Now({ session }: { session: Session }) {
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
      {session.reason && <Reason reason={session.reason} advice={session.advice} />}
      <Group>
        <StopButton session={session} />
      </Group>
    </>
  );
}

function Running({ session }: { session: Session }) {
  return (
    <>
      {session.reason && <Reason reason={session.reason} advice={session.advice} />}
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
      <SessionBoard session={session} />
    </>
  );
}

function Ended({ session }: { session: Session }) {
  const navigate = useNavigate();
  return (
    <>
      <Reason reason={endReason(session)} advice={session.advice} />
      {wentWrong(session) && session.started_at && (
        <ErrorLine of={{ kind: 'sessions', id: session.id }} endedAt={session.ended_at} />
      )}
      <div className={classes.actions}>
        <AgainButton
          session={session}
          onStarted={(id) => navigate({ to: '/sessions/$id', params: { id } })}
        />
        <Button
          variant="default"
          renderRoot={(props) => <Link to="/start" search={toStartLink(session)} {...props} />}
        >
          <Trans>Change it, then start</Trans>
        </Button>
        {session.started_at && <TensorboardLink id={session.id} variant="subtle" />}
        <RemoveButton id={session.id} onRemoved={() => navigate({ to: '/', replace: true })}>
          <Trans>Remove from the list</Trans>
        </RemoveButton>
      </div>
      <SessionBoard session={session} />
    </>
  );
}
