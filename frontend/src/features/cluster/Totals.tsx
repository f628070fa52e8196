import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import classes from './Cluster.module.css';
import { countsText, countText, SQUARE_LABELS } from './labels';
import { type Counts, countGpus, gpuTypes, SQUARES } from './nodeMap';
import { Swatch } from './Swatch';
import type { VisibleNode } from './types';

/** The totals: GPUs of each type, and nodes. Also the legend of the map's colors. */
export function Totals({ nodes }: { nodes: readonly VisibleNode[] }) {
  const all = countGpus(nodes);
  return (
    <Paper component="section" className={classes.totals} aria-label={t`At a glance`}>
      <ul className={classes.types}>
        {gpuTypes(nodes).map((type) => (
          <GpuType key={type} type={type} counts={countGpus(nodes, type)} />
        ))}
        <NodeCounts nodes={nodes} />
      </ul>
      {all.total > 0 && <Legend all={all} />}
    </Paper>
  );
}

function GpuType({ type, counts }: { type: string; counts: Counts }) {
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
        {SQUARES.filter((square) => counts[square] > 0).map((square) => (
          <span key={square} data-square={square} style={{ flexGrow: counts[square] }} />
        ))}
      </div>
      <p className={classes.quiet}>{countsText(counts)}</p>
    </li>
  );
}

function NodeCounts({ nodes }: { nodes: readonly VisibleNode[] }) {
  const out = nodes.filter((node) => !node.takes_work).length;
  const cpus = nodes.reduce((sum, node) => sum + node.cpus, 0);
  const free = nodes.reduce((sum, node) => sum + node.cpus_free, 0);
  const working = countText(nodes.length - out);
  return (
    <li>
      <p className={classes.figure}>
        <Trans>
          <strong>{working}</strong> of <Plural value={nodes.length} one="# node" other="# nodes" />{' '}
          in service
        </Trans>
      </p>
      <div className={classes.track} aria-hidden="true">
        <span data-square="others" style={{ flexGrow: nodes.length - out }} />
        {out > 0 && <span data-square="out" style={{ flexGrow: out }} />}
      </div>
      <p className={classes.quiet}>
        {t`${{ free: countText(free) }} of ${{ total: countText(cpus) }} CPUs free`}
      </p>
    </li>
  );
}

function Legend({ all }: { all: Counts }) {
  const visible = SQUARES.filter((square) => square !== 'unclear' || all.unclear > 0);
  return (
    <ul className={classes.legend} aria-label={t`Legend: one square for each GPU`}>
      {visible.map((square) => (
        <li key={square}>
          <Swatch square={square} />
          {SQUARE_LABELS[square]}
        </li>
      ))}
    </ul>
  );
}
