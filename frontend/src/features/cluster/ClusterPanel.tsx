import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Suspense } from 'react';
import { countText } from '@/lib/countText';
import { isClusterKnown } from '@/live/isClusterKnown';
import { useLive } from '@/live/store';
import { Fold } from '@/ui/Fold';
import { lazyPart } from '@/ui/lazyPart';
import classes from './ClusterPanel.module.css';
import { GpuTypeRow } from './GpuTypeRow';
import { NodeSkeletons } from './NodeSkeletons';

/** A larger cluster has no list of nodes in the panel. */
const FEW_NODES = 8;

const FewNodes = lazyPart(async () => (await import('./FewNodes')).FewNodes);

/** The cluster's use by GPU type and, if it is small, by node. */
export function ClusterPanel() {
  const cluster = useLive((s) => s.cluster);
  if (cluster === null) return <Skeleton height={220} radius="lg" />;
  return (
    <Paper component="section" className={classes.panel} aria-labelledby="in-use-now">
      <div className={classes.head}>
        <h2 id="in-use-now" className={classes.title}>
          {cluster.stale_since === null ? t`In use now` : t`In use when Slurm last responded`}
        </h2>
        <Link to="/cluster">
          <Trans>Whole cluster</Trans>
        </Link>
      </div>
      {cluster.gpus.length === 0 && (
        <p className={classes.none}>
          {isClusterKnown(cluster) ? t`This cluster has no GPUs.` : t`Slurm has not responded yet.`}
        </p>
      )}
      <ul className={classes.types}>
        {cluster.gpus.map((gpu) => (
          <GpuTypeRow key={gpu.type} gpu={gpu} />
        ))}
      </ul>
      {cluster.nodes > FEW_NODES ? (
        <p className={classes.inService}>
          {t`${{ working: countText(cluster.nodes - cluster.nodes_out) }} of ${{ total: countText(cluster.nodes) }} nodes in service`}
        </p>
      ) : (
        cluster.nodes > 0 && (
          <Fold className={classes.nodes} summary={<Trans>By node</Trans>} open>
            <Suspense fallback={<NodeSkeletons count={cluster.nodes} />}>
              <FewNodes count={cluster.nodes} changedAt={cluster.changed_at} />
            </Suspense>
          </Fold>
        )
      )}
    </Paper>
  );
}
