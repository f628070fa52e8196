import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { SegmentedControl, Skeleton } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { Cluster } from '@/api/types';
import { discardTypedSearches } from '@/ui/SearchField';
import classes from './Cluster.module.css';
import { NodeDetails } from './NodeDetails';
import { NodeFilters } from './NodeFilters';
import { NodeMap } from './NodeMap';
import { NodeTable } from './NodeTable';
import { type ClusterSearch, isFiltered, unfiltered, type View, withChange } from './search';
import type { Nodes } from './useNodes';

interface Props {
  cluster: Cluster;
  nodes: Nodes;
  search: ClusterSearch;
}

/** The nodes that match the filters, as a map or as a table, and the details of one. */
export function NodesSection({ cluster, nodes, search }: Props) {
  const navigate = useNavigate({ from: '/cluster' });
  const go = useCallback(
    (next: ClusterSearch | ((now: ClusterSearch) => ClusterSearch)): void => {
      void navigate({ to: '/cluster', search: next, replace: true, resetScroll: false });
    },
    [navigate],
  );
  const chooseNode = useCallback(
    (node: string | undefined): void => go((now) => withChange(now, { node })),
    [go],
  );
  const clear = (): void => {
    discardTypedSearches();
    go(unfiltered(search));
  };
  const showView = (view: View): void =>
    go(withChange(search, { view: view === 'table' ? view : undefined }));
  return (
    <section aria-labelledby="nodes-title">
      <div className={classes.bar}>
        <h2 id="nodes-title" className={classes.title}>
          <Trans>Nodes</Trans>
        </h2>
        <SegmentedControl<View>
          aria-label={t`View`}
          size="xs"
          value={search.view ?? 'picture'}
          onChange={showView}
          data={[
            { value: 'picture', label: t`Grid` },
            { value: 'table', label: t`Table` },
          ]}
        />
      </div>
      <NodeFilters cluster={cluster} count={nodes.matching} search={search} go={go} />
      <div className={classes.split} data-open={search.node !== undefined}>
        {nodes.matching === undefined ? (
          <Skeleton height={360} radius="lg" aria-label={t`Loading`} />
        ) : nodes.matching === 0 ? (
          <NoneLeft isFiltered={isFiltered(search)} clear={clear} />
        ) : search.view === 'table' ? (
          <Table nodes={nodes} search={search} go={go} />
        ) : (
          <NodeMap
            nodes={nodes.map.data?.nodes ?? []}
            chosen={search.node}
            choose={chooseNode}
            showTable={() => showView('table')}
          />
        )}
        {search.node !== undefined && (
          <NodeDetails key={search.node} name={search.node} close={() => chooseNode(undefined)} />
        )}
      </div>
    </section>
  );
}

interface ViewProps {
  search: ClusterSearch;
  go: (next: ClusterSearch) => void;
}

function Table({ nodes: { table }, search, go }: ViewProps & { nodes: Nodes }) {
  return (
    <NodeTable
      pages={table.data?.pages ?? []}
      search={search}
      go={go}
      busy={table.isPlaceholderData}
      more={table.hasNextPage ? () => void table.fetchNextPage() : undefined}
      fetchingMore={table.isFetchingNextPage}
    />
  );
}

function NoneLeft({ isFiltered, clear }: { isFiltered: boolean; clear: () => void }) {
  if (!isFiltered)
    return (
      <p className={classes.quiet}>
        <Trans>This cluster has no nodes.</Trans>
      </p>
    );
  return (
    <p className={classes.quiet}>
      <Trans>
        No matching nodes.{' '}
        <button type="button" className={classes.link} onClick={clear}>
          Show all nodes
        </button>
      </Trans>
    </p>
  );
}
