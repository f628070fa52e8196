import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { sentence } from '@/api/problem';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Cluster.module.css';
import { HistorySection } from './HistorySection';
import { NodeDetails } from './NodeDetails';
import { NodeFilters } from './NodeFilters';
import { NodeMap } from './NodeMap';
import { NodeTable } from './NodeTable';
import { filterNodes, sortNodes } from './nodeMap';
import { OutOfService } from './OutOfService';
import { QueueSection } from './QueueSection';
import { nodesQuery, queueQuery, reservationsQuery, useFreshCluster } from './queries';
import { ReservationsSection } from './ReservationsSection';
import { type ClusterSearch, isFiltered, unfiltered, type View, withChange } from './search';
import { Totals } from './Totals';
import type { VisibleNodes } from './types';

/**
 * The cluster: its nodes, their usage, the queue and the reservations. A section appears once those
 * above it have loaded; otherwise it would move while the user reads it.
 */
export function ClusterPage() {
  useFreshCluster();
  const nodes = useQuery(nodesQuery);
  const queue = useQuery(queueQuery);
  const ahead = useQuery(reservationsQuery);
  return (
    <>
      <div className={classes.head}>
        <PageTitle tab={t`Cluster`}>
          <Trans>Cluster</Trans>
        </PageTitle>
        {nodes.data?.at && (
          <p className={classes.quiet}>
            <Trans>
              Reported by Slurm at <Time at={nodes.data.at} />
            </Trans>
          </p>
        )}
      </div>
      {nodes.data && (
        <nav className={classes.parts} aria-label={t`On this page`}>
          <a href="#nodes-title">
            <Trans>Nodes</Trans>
          </a>
          <a href="#queue-title">
            <Trans>Queue</Trans>
          </a>
          <a href="#ahead-title">
            <Trans>Maintenance and reservations</Trans>
          </a>
          <a href="#history-title">
            <Trans>History</Trans>
          </a>
        </nav>
      )}
      {nodes.error && !nodes.data && (
        <TryAgain error={sentence(nodes.error)} onRetry={() => void nodes.refetch()} />
      )}
      {nodes.error && nodes.data && (
        <Notice tone="warning">{t`This page may be out of date. ${{ problem: sentence(nodes.error) }}`}</Notice>
      )}
      {!nodes.data && !nodes.error && <Skeleton height={360} radius="lg" aria-label={t`Loading`} />}
      {nodes.data && <Nodes snapshot={nodes.data} />}
      {!nodes.isPending && <QueueSection queue={queue.data} error={queue.error} />}
      {!nodes.isPending && !queue.isPending && (
        <ReservationsSection ahead={ahead.data} error={ahead.error} />
      )}
      {nodes.data && !queue.isPending && !ahead.isPending && <HistorySection />}
    </>
  );
}

function Nodes({ snapshot }: { snapshot: VisibleNodes }) {
  const search = useSearch({ from: '/member/cluster' });
  const navigate = useNavigate({ from: '/cluster' });
  const go = (next: ClusterSearch): void => {
    void navigate({ to: '/cluster', search: next, replace: true, resetScroll: false });
  };
  const chooseNode = useCallback(
    (node: string | undefined): void => {
      void navigate({
        to: '/cluster',
        search: (now) => withChange(now, { node }),
        replace: true,
        resetScroll: false,
      });
    },
    [navigate],
  );
  const visible = useMemo(
    () => sortNodes(filterNodes(snapshot.nodes, search), search),
    [snapshot.nodes, search],
  );
  if (snapshot.at === null)
    return (
      <Notice tone="info">
        <Trans>The node list is not available yet.</Trans>
      </Notice>
    );
  const chosen = snapshot.nodes.find((node) => node.name === search.node);
  return (
    <>
      <Totals nodes={snapshot.nodes} />
      <section aria-labelledby="nodes-title">
        <div className={classes.bar}>
          <h2 id="nodes-title" className={classes.title}>
            <Trans>Nodes</Trans>
          </h2>
          <SegmentedControl<View>
            aria-label={t`View`}
            size="xs"
            value={search.view ?? 'picture'}
            onChange={(view) =>
              go(withChange(search, { view: view === 'table' ? view : undefined }))
            }
            data={[
              { value: 'picture', label: t`Grid` },
              { value: 'table', label: t`Table` },
            ]}
          />
        </div>
        <NodeFilters nodes={snapshot.nodes} count={visible.length} search={search} go={go} />
        <div className={classes.split} data-open={chosen !== undefined}>
          {visible.length === 0 && <NoneLeft search={search} go={go} />}
          {visible.length > 0 && search.view === 'table' && (
            <NodeTable snapshot={snapshot} nodes={visible} search={search} go={go} />
          )}
          {visible.length > 0 && search.view !== 'table' && (
            <NodeMap nodes={visible} chosen={search.node} choose={chooseNode} />
          )}
          {chosen && (
            <NodeDetails node={chosen} snapshot={snapshot} close={() => chooseNode(undefined)} />
          )}
        </div>
      </section>
      <OutOfService nodes={snapshot.nodes} search={search} />
    </>
  );
}

function NoneLeft({ search, go }: { search: ClusterSearch; go: (next: ClusterSearch) => void }) {
  if (!isFiltered(search))
    return (
      <p className={classes.quiet}>
        <Trans>This cluster has no nodes.</Trans>
      </p>
    );
  return (
    <p className={classes.quiet}>
      <Trans>
        No matching nodes.{' '}
        <button type="button" className={classes.link} onClick={() => go(unfiltered(search))}>
          Show all nodes
        </button>
      </Trans>
    </p>
  );
}
