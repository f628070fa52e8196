import { Button, Group } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Session } from '@/api/types';
import { ErrorLine } from '@/features/jobs/ErrorLine';
import { startAgain, stopSession, stopTensorboard } from '@/features/sessions/actions';
import { QueuedBody } from '@/features/sessions/QueuedBody';
import { Reason } from '@/features/sessions/Reason';
import { StartSteps } from '@/features/sessions/StartSteps';
import { StopButton } from '@/features/sessions/StopButton';
import { StoppingBody } from '@/features/sessions/StoppingBody';
import { TensorboardLine } from '@/features/sessions/TensorboardLine';
import { TensorboardLink } from '@/features/sessions/TensorboardLink';
import { TerminalMenu } from '@/features/sessions/TerminalMenu';
import { TimeLeft } from '@/features/sessions/TimeLeft';
import { useAct } from '@/features/sessions/useAct';
import { endReason, labUrl, wentWrong } from '@/features/sessions/words';
import { toStartLink } from '@/features/start/link';
import { Icon } from '@/ui/icons';
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
        {session.url && (
          <Button
            component="a"
            href={labUrl(session) ?? session.url}
            target="_blank"
            rel="noopener"
            leftSection={<Icon name="open" />}
          >
            Open JupyterLab
          </Button>
        )}
        {session.url && <TerminalMenu session={session} url={session.url} />}
        <TensorboardLink id={session.id} variant="default" />
        <span className={classes.end}>
          <StopButton session={session} />
        </span>
      </div>
      <TimeLeft session={session} />
      <Board session={session} />
    </>
  );
}

function Ended({ session }: { session: Session }) {
  const navigate = useNavigate();
  const [starting, start] = useAct();
  const [removing, remove] = useAct();
  const again = async (): Promise<void> => {
    const { id } = await startAgain(session);
    await navigate({ to: '/sessions/$id', params: { id } });
  };
  const takeAway = async (): Promise<void> => {
    await stopSession(session.id);
    await navigate({ to: '/', replace: true });
  };
  return (
    <>
      <Reason reason={endReason(session)} advice={session.advice} />
      {wentWrong(session) && session.started_at && (
        <ErrorLine of={{ kind: 'sessions', id: session.id }} endedAt={session.ended_at} />
      )}
      <div className={classes.actions}>
        <Button
          leftSection={<Icon name="again" />}
          loading={starting}
          onClick={() => void start(again)}
        >
          Start again
        </Button>
        <Button
          variant="default"
          renderRoot={(props) => <Link to="/start" search={toStartLink(session)} {...props} />}
        >
          Change it, then start
        </Button>
        {session.started_at && <TensorboardLink id={session.id} variant="subtle" />}
        <Button
          variant="subtle"
          px="xs"
          color="gray"
          leftSection={<Icon name="trash" />}
          loading={removing}
          onClick={() => void remove(takeAway)}
        >
          Remove from the list
        </Button>
      </div>
      <Board session={session} />
    </>
  );
}

function Board({ session }: { session: Session }) {
  return (
    <TensorboardLine
      board={session.tensorboard}
      onStop={() => stopTensorboard(session.id)}
      share={{ kind: 'sessions', id: session.id, name: session.name }}
      stopped
    />
  );
}
