import { Button } from '@mantine/core';
import type { Session } from '@/api/types';
import { duration } from '@/lib/time';
import { Icon } from '@/ui/icons';
import { Time } from '@/ui/Time';
import { startAgain, stopSession, stopTensorboard } from './actions';
import { Facts } from './Facts';
import { LogLink } from './LogLink';
import { LogTail } from './LogTail';
import { Reason } from './Reason';
import classes from './SessionCard.module.css';
import { TensorboardLine } from './TensorboardLine';
import { TensorboardLink } from './TensorboardLink';
import { useAct } from './useAct';
import { endReason, wentWrong } from './words';

export function EndedBody({ session }: { session: Session }) {
  const [starting, start] = useAct();
  const [removing, remove] = useAct();
  return (
    <>
      <Reason reason={endReason(session)} advice={session.advice} />
      {wentWrong(session) && (
        <LogTail of={{ kind: 'sessions', id: session.id }} endedAt={session.ended_at} />
      )}
      <Facts session={session} />
      {session.ended_at && (
        <span className={classes.environment}>
          {session.started_at &&
            `Ran ${duration(Date.parse(session.ended_at) - Date.parse(session.started_at))}, `}
          ended <Time at={session.ended_at} />
        </span>
      )}
      <div className={classes.actions}>
        <Button
          variant="default"
          px="sm"
          leftSection={<Icon name="again" />}
          loading={starting}
          onClick={() => void start(() => startAgain(session))}
        >
          Start again
        </Button>
        <LogLink id={session.id} />
        {session.started_at && <TensorboardLink id={session.id} variant="subtle" />}
        <Button
          variant="subtle"
          px="xs"
          color="gray"
          leftSection={<Icon name="trash" />}
          loading={removing}
          onClick={() => void remove(() => stopSession(session.id))}
        >
          Remove
        </Button>
      </div>
      <TensorboardLine
        board={session.tensorboard}
        onStop={() => stopTensorboard(session.id)}
        share={{ kind: 'sessions', id: session.id, name: session.name }}
        stopped
      />
    </>
  );
}
