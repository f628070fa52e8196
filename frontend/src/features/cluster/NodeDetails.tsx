import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { errorMessage } from '@/api/problem';
import { MaybeTerm } from '@/features/glossary/Term';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { memoryText } from '@/lib/sizes';
import { closesPanel } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Cluster.module.css';
import {
  conditionLabel,
  cpusFreeText,
  memoryFreeText,
  nodeGpusText,
  reservationTitle,
} from './labels';
import { MyJobLink } from './MyJobLink';
import { nodeQuery, reservationsQuery } from './queries';
import { reservationsOf } from './timeline';
import type { ClusterNode } from './types';

interface Props {
  name: string;
  close: () => void;
}

/** The details of a node: state and reason, the user's own jobs on it, and its reservations. */
export function NodeDetails({ name, close }: Props) {
  const { data: node, error } = useQuery(nodeQuery(name));
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (closesPanel(event)) close();
    };
    window.addEventListener('keydown', key);
    return () => window.removeEventListener('keydown', key);
  }, [close]);
  const label = node && conditionLabel(node);
  return (
    <Paper component="aside" className={classes.details} aria-label={t`Node ${name}`}>
      <div className={classes.detailsHead}>
        <h3>{name}</h3>
        {label && <StateChip tone={label.tone} label={label.label} />}
        <ActionIcon variant="subtle" color="gray" onClick={close} aria-label={t`Close`}>
          <span aria-hidden="true">✕</span>
        </ActionIcon>
      </div>
      {error && <Notice tone={node ? 'warning' : 'error'}>{errorMessage(error)}</Notice>}
      {!node && !error && <Skeleton height={240} aria-label={t`Loading`} />}
      {node && label && (
        <>
          <div aria-live="polite">
            <p className={classes.quiet}>{label.means}</p>
            <Reason node={node} />
          </div>
          <Facts node={node} />
        </>
      )}
    </Paper>
  );
}

function Facts({ node }: { node: ClusterNode }) {
  return (
    <dl className={classes.facts}>
      {node.gpus.map((gpus) => (
        <Fact key={gpus.type} word="GPUs" name={t`GPUs`}>
          {nodeGpusText(gpus)}
        </Fact>
      ))}
      <Fact word="CPUs" name={t`CPUs`}>
        {node.takes_work ? cpusFreeText(node) : String(node.cpus)}
      </Fact>
      <Fact word="Memory" name={t`Memory`}>
        {node.takes_work ? memoryFreeText(node) : memoryText(node.memory_gb)}
      </Fact>
      <Fact word="Partitions" name={t`Partitions`}>
        {joinWithCommas(node.partitions) || t`none`}
      </Fact>
      <Fact name={t`Slurm state`}>
        <code>{node.state}</code>
      </Fact>
      <NodeJobs node={node} />
      <Resources node={node} />
      <Planned node={node} />
    </dl>
  );
}

function Reason({ node: { reason, since } }: { node: ClusterNode }) {
  if (!reason) return null;
  return (
    <p className={classes.reason}>
      {translateExact(reason)}
      {since && (
        <span className={classes.quiet}>
          {' '}
          <Trans>
            (since <Time at={since} />)
          </Trans>
        </span>
      )}
    </p>
  );
}

interface FactProps {
  name: string;
  /** the glossary's term, if it has one for this */
  word?: string;
  children: ReactNode;
}

function Fact({ name, word, children }: FactProps) {
  return (
    <div>
      <dt>{word ? <MaybeTerm word={word}>{name}</MaybeTerm> : name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The jobs on a node: the user's own by name, others' as a number, and by name for administrators. */
function NodeJobs({ node }: { node: ClusterNode }) {
  return (
    <>
      {node.mine.length > 0 && (
        <Fact name={t`Your jobs here`}>
          <ul className={classes.plainList}>
            {node.mine.map((job) => (
              <li key={job.job_id}>
                <MyJobLink job={job} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
      <Fact name={t`Jobs here`}>{node.jobs === 0 ? t`none` : String(node.jobs)}</Fact>
      {node.users && node.users.length > 0 && (
        <Fact name={t`Users`}>
          <ul className={classes.plainList}>
            {node.users.map(({ username, jobs, gpus }) => (
              <li key={username}>{whoText(username, jobs, gpus)}</li>
            ))}
          </ul>
        </Fact>
      )}
    </>
  );
}

function whoText(username: string, jobs: number, gpus: number | null): string {
  if (gpus === null)
    return t`${username}: ${plural(jobs, { one: '# job', other: '# jobs' })}, – GPUs`;
  if (gpus === 0) return t`${username}: ${plural(jobs, { one: '# job', other: '# jobs' })}`;
  return t`${username}: ${plural(jobs, { one: '# job', other: '# jobs' })}, ${plural(gpus, { one: '# GPU', other: '# GPUs' })}`;
}

function Resources({ node }: { node: ClusterNode }) {
  if (!node.addresses) return null;
  const { in_band, infiniband, management } = node.addresses;
  return (
    <>
      <Fact word="In-band" name={t`In-band`}>
        {in_band ?? '–'}
      </Fact>
      <Fact word="InfiniBand" name={t`InfiniBand`}>
        {infiniband ?? '–'}
      </Fact>
      <Fact word="Management" name={t({ message: 'Management', context: 'address' })}>
        {management ?? '–'}
      </Fact>
    </>
  );
}

function Planned({ node }: { node: ClusterNode }) {
  const { data } = useQuery(reservationsQuery);
  const reservations = reservationsOf(node.name, data?.items ?? []);
  if (reservations.length === 0) return null;
  return (
    <Fact name={t`Maintenance and reservations`}>
      <ul className={classes.plainList}>
        {reservations.map((reservation) => (
          <li key={`${reservation.start} ${reservation.name}`}>
            <Trans>
              {{ what: reservationTitle(reservation) }}, <Time at={reservation.start} /> –{' '}
              <Time at={reservation.end} />
            </Trans>
          </li>
        ))}
      </ul>
    </Fact>
  );
}
