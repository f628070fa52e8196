import { Paper, Skeleton, Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { sentence } from '@/api/problem';
import { Term } from '@/features/glossary/Term';
import { minutesAsTime } from '@/lib/time';
import { Notice } from '@/ui/Notice';
import classes from './Cluster.module.css';
import { MyJobLink } from './MyJobLink';
import type { ClusterQueue, PartitionQueue } from './shapes';
import { type Waits, waitingText, whereMineWait } from './words';

interface Props {
  queue: ClusterQueue | undefined;
  error: Error | null;
}

/** What runs and waits in each partition, and where one's own stands. */
export function QueueSection({ queue, error }: Props) {
  return (
    <section className={classes.section} aria-labelledby="queue-title">
      <h2 id="queue-title" className={classes.title}>
        <Term>Queue</Term>
      </h2>
      {error && !queue && <Notice tone="error">{sentence(error)}</Notice>}
      {!error && !queue && <Skeleton height={160} radius="lg" aria-label="Loading" />}
      {queue && queue.partitions.length === 0 && (
        <p className={classes.quiet}>Slurm has not told yet which partitions there are.</p>
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
      <section className={classes.scroll} aria-label="Table of partitions" tabIndex={0}>
        <Table verticalSpacing="sm" horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>
                <Term>Partition</Term>
              </Table.Th>
              <Table.Th>Nodes</Table.Th>
              <Table.Th>
                <Term word="Time limit">Longest time</Term>
              </Table.Th>
              <Table.Th>Running</Table.Th>
              <Table.Th>Waiting in line</Table.Th>
              <Table.Th>Yours</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {queue.partitions.map((one) => (
              <Table.Tr key={one.name}>
                <Table.Th scope="row">
                  {one.name}
                  {one.default && <span className={classes.quiet}> (default)</span>}
                  {one.state !== 'UP' && (
                    <span className={classes.closed}>
                      {' '}
                      takes no jobs: {one.state.toLowerCase()}
                    </span>
                  )}
                </Table.Th>
                <Table.Td>{one.nodes}</Table.Td>
                <Table.Td>
                  {one.max_time_minutes === null ? 'no limit' : minutesAsTime(one.max_time_minutes)}
                </Table.Td>
                <Table.Td>{one.running}</Table.Td>
                <Table.Td>{waitingText(one)}</Table.Td>
                <Table.Td>{mineText(one)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
    </Paper>
  );
}

function mineText({ mine_running: running, mine_waiting: waiting }: PartitionQueue): string {
  if (running === 0 && waiting === 0) return 'none';
  if (waiting === 0) return `${running} running`;
  return running === 0 ? `${waiting} waiting` : `${running} running, ${waiting} waiting`;
}

/** One's own that waits, with its place and the reason. */
function Mine({ partitions }: { partitions: readonly PartitionQueue[] }) {
  const waiting = whereMineWait(partitions);
  if (waiting.length === 0) return <p className={classes.below}>Nothing of yours is waiting.</p>;
  const all = Math.max(...partitions.map((queue) => queue.mine_waiting));
  const shown = waiting.reduce((sum, { job }) => sum + job.tasks, 0);
  return (
    <>
      <h3 className={classes.subtitle}>Your place in the queue</h3>
      <Paper component="ul" className={classes.list}>
        {waiting.map((one) => (
          <MineRow key={one.job.job_id} {...one} />
        ))}
        {all > shown && (
          <li>
            <Link to="/jobs" search={{ state: 'live' }}>
              The rest of what waits
            </Link>
          </li>
        )}
      </Paper>
      <p className={classes.below}>
        Places go by Slurm's priorities at this moment. A job that fits into a gap may start before
        larger ones ahead of it.
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
      {job.tasks > 1 && <span className={classes.quiet}> {job.tasks} tasks</span>}
      {places.map((place) => (
        <div key={place}>{place}</div>
      ))}
      {job.reason && <div className={classes.quiet}>{job.reason}</div>}
      {job.advice && <div className={classes.quiet}>{job.advice}</div>}
    </li>
  );
}
