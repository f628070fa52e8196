import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useLive } from '@/live/store';
import classes from './ClusterPanel.module.css';
import { GpuTypeRow } from './GpuTypeRow';
import { NodeRow } from './NodeRow';
import { inNodeOrder, isKnown } from './nodes';

/** With more nodes than this, the list of nodes is collapsed. */
const SHOWN_OPEN = 8;

/** The cluster's use by GPU type and by node. */
export function ClusterPanel() {
  const cluster = useLive((s) => s.cluster);
  if (cluster === null) return <Skeleton height={220} radius="lg" />;
  return (
    <Paper component="section" className={classes.panel} aria-labelledby="in-use-now">
      <div className={classes.head}>
        <h2 id="in-use-now" className={classes.title}>
          {cluster.stale_since === null ? t`In use now` : t`In use when Slurm last answered`}
        </h2>
        <Link to="/cluster">
          <Trans>Whole cluster</Trans>
        </Link>
      </div>
      {cluster.gpus.length === 0 && (
        <p className={classes.none}>
          {isKnown(cluster) ? t`This cluster has no GPUs.` : t`Slurm has not answered yet.`}
        </p>
      )}
      <ul className={classes.types}>
        {cluster.gpus.map((gpu) => (
          <GpuTypeRow key={gpu.type} gpu={gpu} />
        ))}
      </ul>
      <details
        hidden={cluster.nodes.length === 0}
        className={classes.nodes}
        open={cluster.nodes.length <= SHOWN_OPEN}
      >
        <summary>
          <Trans>By node</Trans>
        </summary>
        <ul>
          {inNodeOrder(cluster.nodes).map((node) => (
            <NodeRow key={node.name} node={node} />
          ))}
        </ul>
      </details>
    </Paper>
  );
}
