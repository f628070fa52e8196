import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import type { Cluster } from '@/api/types';
import { countText } from '@/lib/countText';
import classes from './Cluster.module.css';
import { countsText, GPU_STATE_LABELS } from './labels';
import { type Counts, GPU_STATES, sumCounts } from './nodeMap';
import { Swatch } from './Swatch';
import type { NodeGpus } from './types';

interface Props {
  cluster: Cluster;
  /** those of all nodes, by type */
  gpus: readonly NodeGpus[];
}

/** The totals: GPUs of each type, and nodes. Also the legend of the map's colors. */
export function Totals({ cluster, gpus }: Props) {
  const all = sumCounts(gpus);
  return (
    <Paper component="section" className={classes.totals} aria-label={t`At a glance`}>
      <ul className={classes.types}>
        {gpus.map((counts) => (
          <GpuType key={counts.type} counts={counts} />
        ))}
        <NodeCounts cluster={cluster} />
      </ul>
      {all.total > 0 && <Legend all={all} />}
    </Paper>
  );
}

function GpuType({ counts }: { counts: NodeGpus }) {
  const { type } = counts;
  const free = countText(counts.free);
  const total = countText(counts.total);
  return (
    <li>
      <p className={classes.figure}>
        <Trans>
          <strong>{free}</strong> of {total} {type} free
        </Trans>
      </p>
      <div className={classes.track} aria-hidden="true">
        {GPU_STATES.filter((state) => counts[state] > 0).map((state) => (
          <span key={state} data-state={state} style={{ flexGrow: counts[state] }} />
        ))}
      </div>
      <p className={classes.quiet}>{countsText(counts)}</p>
    </li>
  );
}

function NodeCounts({ cluster }: { cluster: Cluster }) {
  const { nodes, nodes_out: out, cpus } = cluster;
  const working = countText(nodes - out);
  return (
    <li>
      <p className={classes.figure}>
        <Trans>
          <strong>{working}</strong> of <Plural value={nodes} one="# node" other="# nodes" /> in
          service
        </Trans>
      </p>
      <div className={classes.track} aria-hidden="true">
        <span data-state="others" style={{ flexGrow: nodes - out }} />
        {out > 0 && <span data-state="out" style={{ flexGrow: out }} />}
      </div>
      <p className={classes.quiet}>
        {t`${{ free: countText(cpus.free) }} of ${{ total: countText(cpus.total) }} CPUs free`}
      </p>
    </li>
  );
}

function Legend({ all }: { all: Counts }) {
  const visible = GPU_STATES.filter((state) => state !== 'unclear' || all.unclear > 0);
  return (
    <ul className={classes.legend} aria-label={t`Legend: one square for each GPU`}>
      {visible.map((state) => (
        <li key={state}>
          <Swatch state={state} />
          {GPU_STATE_LABELS[state]}
        </li>
      ))}
    </ul>
  );
}
