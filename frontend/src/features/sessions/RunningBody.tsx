import { Button } from '@mantine/core';
import type { Session } from '@/api/types';
import { elapsed } from '@/lib/time';
import { Icon } from '@/ui/icons';
import { stopTensorboard } from './actions';
import { Facts } from './Facts';
import { LogLink } from './LogLink';
import { Notebooks } from './Notebooks';
import { Reason } from './Reason';
import classes from './SessionCard.module.css';
import { StopButton } from './StopButton';
import { TensorboardLine } from './TensorboardLine';
import { TensorboardLink } from './TensorboardLink';
import { TerminalMenu } from './TerminalMenu';
import { TimeLeft } from './TimeLeft';
import { startTimes } from './timeline';
import { labUrl } from './words';

export function RunningBody({ session }: { session: Session }) {
  const started = startTimes(session);
  return (
    <>
      {session.reason && <Reason reason={session.reason} advice={session.advice} />}
      <Facts session={session} />
      <TimeLeft session={session} />
      <div className={classes.actions}>
        {session.url && (
          <Button
            component="a"
            className={classes.wide}
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
        <LogLink id={session.id} />
        <span className={classes.end}>
          <StopButton session={session} />
        </span>
      </div>
      <TensorboardLine
        board={session.tensorboard}
        onStop={() => stopTensorboard(session.id)}
        share={{ kind: 'sessions', id: session.id, name: session.name }}
        stopped
      />
      <Notebooks id={session.id} />
      {started && (
        <span className={classes.environment}>
          Was ready {elapsed(started.totalMs)} after the click
          {started.queueMs !== null && `, ${elapsed(started.queueMs)} of it in Slurm's queue`}.
        </span>
      )}
    </>
  );
}
