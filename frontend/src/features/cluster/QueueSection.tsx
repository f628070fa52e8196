import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import { Term } from '@/features/glossary/Term';
import { translate } from '@/i18n/translate';
import { minutesAsTime } from '@/lib/time';
import { type Column, DataTable } from '@/ui/DataTable';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import classes from './Cluster.module.css';
import { pendingPositions, type Waits, waitingText } from './labels';
import { MyJobLink } from './MyJobLink';
import type { ClusterQueue, PartitionQueue } from './types';

interface Props {
  queue: ClusterQueue | undefined;
  error: Error | null;
}

/** Running and pending jobs of each partition, and the positions of the user's own. */
export function QueueSection({ queue, error }: Props) {
  return (
    <section className={classes.section} aria-labelledby="queue-title">
      <h2 id="queue-title" className={classes.title}>
        <Term word="Queue">{t`Queue`}</Term>
      </h2>
      {error && !queue && <Notice tone="error">{errorMessage(error)}</Notice>}
      {!error && !queue && <ListSkeleton rows={4} />}
      {queue && queue.partitions.length === 0 && (
        <p className={classes.quiet}>
          <Trans>The partition list is not available yet.</Trans>
        </p>
      )}
      {queue && queue.partitions.length > 0 && (
        <>
          <DataTable
            label={t`Table of partitions`}
            columns={COLUMNS}
            rows={queue.partitions}
            rowKey={({ name }) => name}
            narrow="scroll"
          />
          <OwnJobs partitions={queue.partitions} />
        </>
      )}
    </section>
  );
}

const COLUMNS: Column<PartitionQueue>[] = [
  {
    id: 'partition',
    header: <Term word="Partition">{t`Partition`}</Term>,
    rowHeader: true,
    cell: ({ name, default: isDefault, state }) => (
      <>
        {name}
        {isDefault && (
          <span className={classes.quiet}>
            {' '}
            <Trans>(default)</Trans>
          </span>
        )}
        {state !== 'UP' && (
          <span className={classes.closed}>
            {' '}
            {t`takes no jobs: ${{ state: state.toLowerCase() }}`}
          </span>
        )}
      </>
    ),
  },
  { id: 'nodes', header: t`Nodes`, cell: ({ nodes }) => nodes },
  {
    id: 'time',
    header: <Term word="Time limit">{t`Time limit`}</Term>,
    cell: ({ max_time_minutes: minutes }) =>
      minutes === null ? t`no limit` : minutesAsTime(minutes),
  },
  { id: 'running', header: t`Running`, cell: ({ running }) => running },
  { id: 'pending', header: t`Queued`, cell: waitingText },
  { id: 'mine', header: t`Yours`, cell: mineText },
];

function mineText({ mine_running: running, mine_waiting: waiting }: PartitionQueue): string {
  if (running === 0 && waiting === 0) return t`none`;
  if (waiting === 0) return t`${running} running`;
  return running === 0 ? t`${waiting} queued` : t`${running} running, ${waiting} queued`;
}

/** The user's pending jobs, with position and reason. */
function OwnJobs({ partitions }: { partitions: readonly PartitionQueue[] }) {
  const waiting = pendingPositions(partitions);
  if (waiting.length === 0)
    return (
      <p className={classes.below}>
        <Trans>You have no queued jobs or sessions.</Trans>
      </p>
    );
  const all = Math.max(...partitions.map((queue) => queue.mine_waiting));
  const count = waiting.reduce((sum, { job }) => sum + job.tasks, 0);
  return (
    <>
      <h3 className={classes.subtitle}>
        <Trans>Your place in the queue</Trans>
      </h3>
      <Paper component="ul" className={classes.list}>
        {waiting.map((job) => (
          <OwnJobRow key={job.job.job_id} {...job} />
        ))}
        {all > count && (
          <li>
            <Link to="/jobs" search={{ state: 'live' }}>
              <Trans>Other queued jobs</Trans>
            </Link>
          </li>
        )}
      </Paper>
      <p className={classes.below}>
        <Trans>
          Positions follow Slurm's current priorities. A job that fits into a gap may start before
          larger ones ahead of it.
        </Trans>
      </p>
    </>
  );
}

function OwnJobRow({ job, places: positions }: Waits) {
  return (
    <li>
      <strong>
        <MyJobLink job={job} />
      </strong>
      {job.tasks > 1 && (
        <span className={classes.quiet}>
          {' '}
          {plural(job.tasks, { one: '# task', other: '# tasks' })}
        </span>
      )}
      {positions.map((position) => (
        <div key={position}>{position}</div>
      ))}
      {job.reason && <div className={classes.quiet}>{translate(job.reason)}</div>}
      {job.suggestion && <div className={classes.quiet}>{translate(job.suggestion)}</div>}
    </li>
  );
}
