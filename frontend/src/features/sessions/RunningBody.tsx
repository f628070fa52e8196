import { t } from '@lingui/core/macro';
import { Suspense } from 'react';
import type { Session } from '@/api/types';
import { TrendLine } from '@/features/measurements/TrendLine';
import { elapsed } from '@/lib/time';
import { lazyPart } from '@/ui/lazyPart';
import { Facts } from './Facts';
import { IdleLine } from './IdleLine';
import { Notebooks } from './Notebooks';
import { OpenLab } from './OpenLab';
import { Reason } from './Reason';
import classes from './SessionCard.module.css';
import { SessionMenu } from './SessionMenu';
import { SessionTensorboard } from './SessionTensorboard';
import { StopButton } from './StopButton';
import { TimeLeft } from './TimeLeft';
import { startTimes } from './timeline';

const RunningApps = lazyPart(async () => (await import('@/features/apps/RunningApps')).RunningApps);

function readyText({ totalMs, queueMs }: NonNullable<ReturnType<typeof startTimes>>): string {
  const all = elapsed(totalMs);
  if (queueMs === null) return t`Ready after ${all}.`;
  const queue = elapsed(queueMs);
  return t`Ready after ${all}, including ${queue} in Slurm's queue.`;
}

/** The body of a running or suspended session's card. */
export function RunningBody({ session }: { session: Session }) {
  const started = startTimes(session);
  return (
    <>
      {session.reason && <Reason reason={session.reason} suggestion={session.suggestion} />}
      <Facts session={session} />
      <TimeLeft session={session} />
      {session.state === 'running' && (
        <TrendLine
          id={session.id}
          name={session.name}
          stop={<StopButton session={session} compact />}
          hideIdleHint={session.idle_since !== null}
        />
      )}
      <IdleLine session={session} />
      <div className={classes.actions}>
        <OpenLab session={session} className={classes.wide} />
        <SessionMenu session={session} />
        <span className={classes.end}>
          <StopButton session={session} />
        </span>
      </div>
      {session.state === 'running' && (
        <Suspense>
          <RunningApps id={session.id} session={session.name} />
        </Suspense>
      )}
      <SessionTensorboard session={session} />
      <Notebooks id={session.id} />
      {started && <span className={classes.environment}>{readyText(started)}</span>}
    </>
  );
}
