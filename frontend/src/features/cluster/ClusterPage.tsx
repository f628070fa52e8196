import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { sentence } from '@/api/problem';
import { TryAgain } from '@/features/files/TryAgain';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { Time } from '@/ui/Time';
import classes from './Cluster.module.css';
import { NodeDetails } from './NodeDetails';
import { NodeFilters } from './NodeFilters';
import { NodeMap } from './NodeMap';
import { NodeTable } from './NodeTable';
import { filtered, sorted } from './nodeMap';
import { OutOfService } from './OutOfService';
import { QueueSection } from './QueueSection';
import { nodesQuery, queueQuery, reservationsQuery, useFreshCluster } from './queries';
import { ReservationsSection } from './ReservationsSection';
import { type ClusterSearch, changed, isFiltered, unfiltered, type View } from './search';
import { Totals } from './Totals';
import type { VisibleNodes } from './types';

/** The nodes of the cluster, their use, the queue and the reservations. */
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
            <Trans>Planned</Trans>
          </a>
        </nav>
      )}
      {nodes.error && !nodes.data && (
        <TryAgain error={sentence(nodes.error)} again={() => void nodes.refetch()} />
      )}
      {nodes.error && nodes.data && (
        <Notice tone="warning">{t`This page may be out of date. ${{ problem: sentence(nodes.error) }}`}</Notice>
      )}
      {!nodes.data && !nodes.error && <Skeleton height={360} radius="lg" aria-label={t`Loading`} />}
      {nodes.data && <Nodes seen={nodes.data} />}
      {(nodes.data || queue.data) && <QueueSection queue={queue.data} error={queue.error} />}
      {(nodes.data || ahead.data) && <ReservationsSection ahead={ahead.data} error={ahead.error} />}
    </>
  );
}

function Nodes({ seen }: { seen: VisibleNodes }) {
  const search = useSearch({ from: '/member/cluster' });
  const navigate = useNavigate({ from: '/cluster' });
  const go = (next: ClusterSearch): void => {
    void navigate({ to: '/cluster', search: next, replace: true, resetScroll: false });
  };
  const chooseNode = useCallback(
    (node: string | undefined): void => {
      void navigate({
        to: '/cluster',
        search: (now) => changed(now, { node }),
        replace: true,
        resetScroll: false,
      });
    },
    [navigate],
  );
  const shown = useMemo(() => sorted(filtered(seen.nodes, search), search), [seen.nodes, search]);
  if (seen.at === null)
    return (
      <Notice tone="info">
        <Trans>The node list is not available yet.</Trans>
      </Notice>
    );
  const chosen = seen.nodes.find((node) => node.name === search.node);
  return (
    <>
      <Totals nodes={seen.nodes} />
      <section aria-labelledby="nodes-title">
        <div className={classes.bar}>
          <h2 id="nodes-title" className={classes.title}>
            <Trans>Nodes</Trans>
          </h2>
          <SegmentedControl<View>
            aria-label={t`View`}
            size="xs"
            value={search.view ?? 'picture'}
            onChange={(view) => go(changed(search, { view: view === 'table' ? view : undefined }))}
            data={[
              { value: 'picture', label: t`Picture` },
              { value: 'table', label: t`Table` },
            ]}
          />
        </div>
        <NodeFilters nodes={seen.nodes} shown={shown.length} search={search} go={go} />
        <div className={classes.split} data-open={chosen !== undefined}>
          {shown.length === 0 && <NoneLeft search={search} go={go} />}
          {shown.length > 0 && search.view === 'table' && (
            <NodeTable seen={seen} nodes={shown} search={search} go={go} />
          )}
          {shown.length > 0 && search.view !== 'table' && (
            <NodeMap nodes={shown} chosen={search.node} choose={chooseNode} />
          )}
          {chosen && <NodeDetails node={chosen} seen={seen} close={() => chooseNode(undefined)} />}
        </div>
      </section>
      <OutOfService nodes={seen.nodes} search={search} />
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
