import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import { useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Cluster.module.css';
import { HistorySection } from './HistorySection';
import { NodesSection } from './NodesSection';
import { OutOfService } from './OutOfService';
import { QueueSection } from './QueueSection';
import {
  gpusQuery,
  outQuery,
  queueQuery,
  reservationsQuery,
  useRefetchOnClusterChange,
} from './queries';
import { ReservationsSection } from './ReservationsSection';
import { Totals } from './Totals';
import type { ClusterGpus } from './types';
import { useNodes } from './useNodes';

/**
 * The cluster: its nodes, their usage, the queue and the reservations. A section appears once those
 * above it have loaded; otherwise it would move while the user reads it.
 */
export function ClusterPage() {
  useRefetchOnClusterChange();
  const cluster = useLive((s) => s.cluster);
  const search = useSearch({ from: '/signed-in/cluster' });
  const gpus = useQuery(gpusQuery);
  const nodes = useNodes(search);
  const out = useQuery(outQuery);
  const queue = useQuery(queueQuery);
  const reservations = useQuery(reservationsQuery);
  const error = gpus.error ?? nodes.error ?? out.error;
  const isKnown = cluster !== null && gpus.data && nodes.isKnown && out.data;
  return (
    <>
      <Head gpus={gpus.data} withLinks={Boolean(isKnown)} />
      {error && !isKnown && (
        <TryAgain
          error={errorMessage(error)}
          onRetry={() => {
            for (const query of [gpus, nodes, out]) void query.refetch();
          }}
        />
      )}
      {error && isKnown && (
        <Notice tone="warning">{t`This page may be out of date. ${{ problem: errorMessage(error) }}`}</Notice>
      )}
      {!isKnown && !error && <Skeleton height={360} radius="lg" aria-label={t`Loading`} />}
      {isKnown && gpus.data.at === null && (
        <Notice tone="info">
          <Trans>The node list is not available yet.</Trans>
        </Notice>
      )}
      {isKnown && gpus.data.at !== null && (
        <>
          <Totals cluster={cluster} gpus={gpus.data.items} />
          <NodesSection cluster={cluster} nodes={nodes} search={search} />
          <OutOfService page={out.data} search={search} />
        </>
      )}
      {(isKnown || error) && <QueueSection queue={queue.data} error={queue.error} />}
      {(isKnown || error) && !queue.isPending && (
        <ReservationsSection reservations={reservations.data} error={reservations.error} />
      )}
      {isKnown && !queue.isPending && !reservations.isPending && <HistorySection />}
    </>
  );
}

function Head({ gpus, withLinks }: { gpus: ClusterGpus | undefined; withLinks: boolean }) {
  return (
    <>
      <div className={classes.head}>
        <PageTitle tab={t`Cluster`}>
          <Trans>Cluster</Trans>
        </PageTitle>
        {gpus?.at && (
          <p className={classes.quiet}>
            <Trans>
              Reported by Slurm at <Time at={gpus.at} />
            </Trans>
          </p>
        )}
      </div>
      {withLinks && (
        <nav className={classes.parts} aria-label={t`On this page`}>
          <a href="#nodes-title">
            <Trans>Nodes</Trans>
          </a>
          <a href="#queue-title">
            <Trans>Queue</Trans>
          </a>
          <a href="#reservations-title">
            <Trans>Maintenance and reservations</Trans>
          </a>
          <a href="#history-title">
            <Trans>History</Trans>
          </a>
        </nav>
      )}
    </>
  );
}
