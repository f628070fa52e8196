import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { sentence } from '@/api/problem';
import { Term } from '@/features/glossary/Term';
import { translate } from '@/i18n/translate';
import { minutesAsTime } from '@/lib/time';
import { Notice } from '@/ui/Notice';
import classes from './Cluster.module.css';
import { type Waits, waitingText, whereMineWait } from './labels';
import { MyJobLink } from './MyJobLink';
import type { ClusterQueue, PartitionQueue } from './types';

interface Props {
  queue: ClusterQueue | undefined;
  error: Error | null;
}

/** What runs and waits in each partition, and where one's own stands. */
export function QueueSection({ queue, error }: Props) {
  return (
    <section className={classes.section} aria-labelledby="queue-title">
      <h2 id="queue-title" className={classes.title}>
        <Term word="Queue">{t`Queue`}</Term>
      </h2>
      {error && !queue && <Notice tone="error">{sentence(error)}</Notice>}
      {!error && !queue && <Skeleton height={160} radius="lg" aria-label={t`Loading`} />}
      {queue && queue.partitions.length === 0 && (
        <p className={classes.quiet}>
          <Trans>The partition list is not available yet.</Trans>
        </p>
      )}
      {queue && queue.partitions.length > 0 && (
        <>
          <Partitions queue={queue} />
          <Mine partitions={queue.partitions} />
        </>
      )}
    </section>
  );
}

function Partitions({ queue }: { queue: ClusterQueue }) {
  return (
    <Paper className={classes.table}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className={classes.scroll} aria-label={t`Table of partitions`} tabIndex={0}>
        <Table verticalSpacing="sm" horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>
                <Term word="Partition">{t`Partition`}</Term>
              </Table.Th>
              <Table.Th>
                <Trans>Nodes</Trans>
              </Table.Th>
              <Table.Th>
                <Term word="Time limit">{t`Time limit`}</Term>
              </Table.Th>
              <Table.Th>
                <Trans>Running</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>Waiting in line</Trans>
              </Table.Th>
              <Table.Th>
                <Trans>Yours</Trans>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {queue.partitions.map((one) => (
              <Partition key={one.name} one={one} />
            ))}
          </Table.Tbody>
        </Table>
      </section>
    </Paper>
  );
}

function Partition({ one }: { one: PartitionQueue }) {
  return (
    <Table.Tr>
      <Table.Th scope="row">
        {one.name}
        {one.default && (
          <span className={classes.quiet}>
            {' '}
            <Trans>(default)</Trans>
          </span>
        )}
        {one.state !== 'UP' && (
          <span className={classes.closed}>
            {' '}
            {t`takes no jobs: ${{ state: one.state.toLowerCase() }}`}
          </span>
        )}
      </Table.Th>
      <Table.Td>{one.nodes}</Table.Td>
      <Table.Td>
        {one.max_time_minutes === null ? t`no limit` : minutesAsTime(one.max_time_minutes)}
      </Table.Td>
      <Table.Td>{one.running}</Table.Td>
      <Table.Td>{waitingText(one)}</Table.Td>
      <Table.Td>{mineText(one)}</Table.Td>
    </Table.Tr>
  );
}

function mineText({ mine_running: running, mine_waiting: waiting }: PartitionQueue): string {
  if (running === 0 && waiting === 0) return t`none`;
  if (waiting === 0) return t`${running} running`;
  return running === 0 ? t`${waiting} waiting` : t`${running} running, ${waiting} waiting`;
}

/** One's own that waits, with its place and the reason. */
function Mine({ partitions }: { partitions: readonly PartitionQueue[] }) {
  const waiting = whereMineWait(partitions);
  if (waiting.length === 0)
    return (
      <p className={classes.below}>
        <Trans>You have no waiting jobs or sessions.</Trans>
      </p>
    );
  const all = Math.max(...partitions.map((queue) => queue.mine_waiting));
  const shown = waiting.reduce((sum, { job }) => sum + job.tasks, 0);
  return (
    <>
      <h3 className={classes.subtitle}>
        <Trans>Your place in the queue</Trans>
      </h3>
      <Paper component="ul" className={classes.list}>
        {waiting.map((one) => (
          <MineRow key={one.job.job_id} {...one} />
        ))}
        {all > shown && (
          <li>
            <Link to="/jobs" search={{ state: 'live' }}>
              <Trans>Other waiting jobs</Trans>
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

function MineRow({ job, places }: Waits) {
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
      {places.map((place) => (
        <div key={place}>{place}</div>
      ))}
      {job.reason && <div className={classes.quiet}>{translate(job.reason)}</div>}
      {job.suggestion && <div className={classes.quiet}>{translate(job.suggestion)}</div>}
    </li>
  );
}
