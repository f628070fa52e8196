import { ActionIcon, Paper } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { MaybeTerm } from '@/features/glossary/Term';
import { memoryText, plural } from '@/features/sessions/words';
import { isForDialog } from '@/ui/focus';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Cluster.module.css';
import { MyJobLink } from './MyJobLink';
import { aheadOf } from './picture';
import { aheadQuery } from './queries';
import type { SeenNode, SeenNodes } from './shapes';
import { aheadTitle, conditionWords, cpusText, gpusText, memoryFreeText } from './words';

interface Props {
  node: SeenNode;
  seen: SeenNodes;
  close: () => void;
}

/** One node: how it does and why, what is mine there, what is planned with it. */
export function NodeDetails({ node, seen, close }: Props) {
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !event.defaultPrevented && !isForDialog(event)) close();
    };
    window.addEventListener('keydown', key);
    return () => window.removeEventListener('keydown', key);
  }, [close]);
  const words = conditionWords(node);
  return (
    <Paper component="aside" className={classes.details} aria-label={`Node ${node.name}`}>
      <div className={classes.detailsHead}>
        <h3>{node.name}</h3>
        <StateChip tone={words.tone} label={words.label} />
        <ActionIcon variant="subtle" color="gray" onClick={close} aria-label="Close">
          <span aria-hidden="true">✕</span>
        </ActionIcon>
      </div>
      <div aria-live="polite">
        <p className={classes.quiet}>{words.means}</p>
        {node.reason && (
          <p className={classes.reason}>
            {node.reason}
            {node.since && (
              <span className={classes.quiet}>
                {' '}
                (since <Time at={node.since} />)
              </span>
            )}
          </p>
        )}
      </div>
      <dl className={classes.facts}>
        {node.gpus.map((gpus) => (
          <Fact key={gpus.type} name="GPUs">
            {gpusText(gpus)}
          </Fact>
        ))}
        <Fact name="CPUs">{node.takes_work ? cpusText(node) : String(node.cpus)}</Fact>
        <Fact name="Memory">
          {node.takes_work ? memoryFreeText(node) : memoryText(node.memory_gb)}
        </Fact>
        <Fact name="Partitions">{node.partitions.join(', ') || 'none'}</Fact>
        <Fact name="Slurm says">
          <code>{node.state}</code>
        </Fact>
        <Inhabitants node={node} />
        <Where node={node} seen={seen} />
        <Planned node={node} />
      </dl>
    </Paper>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>
        <MaybeTerm>{name}</MaybeTerm>
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What runs there: mine by name, others' by number, and by name for administrators. */
function Inhabitants({ node }: { node: SeenNode }) {
  return (
    <>
      {node.mine.length > 0 && (
        <Fact name="Yours here">
          <ul className={classes.plainList}>
            {node.mine.map((job) => (
              <li key={job.job_id}>
                <MyJobLink job={job} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
      <Fact name="Jobs here">{node.jobs === 0 ? 'none' : String(node.jobs)}</Fact>
      {node.users && node.users.length > 0 && (
        <Fact name="Who">
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
  const what = `${username}: ${plural(jobs, 'job')}`;
  if (gpus === null) return `${what}, GPUs not known`;
  return gpus === 0 ? what : `${what}, ${plural(gpus, 'GPU')}`;
}

function Where({ node, seen }: { node: SeenNode; seen: SeenNodes }) {
  if (!seen.sees_addresses || !node.addresses) return null;
  const { in_band, infiniband, management } = node.addresses;
  return (
    <>
      <Fact name="In-band">{in_band ?? 'not known'}</Fact>
      <Fact name="InfiniBand">{infiniband ?? 'not known'}</Fact>
      <Fact name="Management">{management ?? 'not known'}</Fact>
    </>
  );
}

function Planned({ node }: { node: SeenNode }) {
  const { data } = useQuery(aheadQuery);
  const ahead = aheadOf(node, data?.items ?? []);
  if (ahead.length === 0) return null;
  return (
    <Fact name="Planned">
      <ul className={classes.plainList}>
        {ahead.map((one) => (
          <li key={`${one.start} ${one.name}`}>
            {aheadTitle(one)}, <Time at={one.start} /> – <Time at={one.end} />
          </li>
        ))}
      </ul>
    </Fact>
  );
}
