import { plural, t } from '@lingui/core/macro';
import { NativeSelect } from '@mantine/core';
import { SearchField } from '@/ui/SearchField';
import classes from './Cluster.module.css';
import { count, nodesText } from './labels';
import { gpuTypes } from './nodeMap';
import { type ClusterSearch, changed, NO_GPU, type Show } from './search';
import type { VisibleNode } from './types';

interface Props {
  nodes: readonly VisibleNode[];
  /** how many are left */
  shown: number;
  search: ClusterSearch;
  go: (next: ClusterSearch) => void;
}

const SHOWS: readonly { value: Show | ''; label: string }[] = [
  { value: '', label: t`In any state` },
  { value: 'free', label: t`With free resources` },
  { value: 'mine', label: t`With my jobs or sessions` },
  { value: 'busy', label: t`With jobs` },
  { value: 'out', label: t`Out of service` },
];

/** Which nodes are shown; kept in the address, so that a link shows the same. */
export function NodeFilters({ nodes, shown, search, go }: Props) {
  const partitions = [...new Set(nodes.flatMap((node) => node.partitions))].sort();
  const types = gpuTypes(nodes);
  const left = count(shown);
  const without = nodes.some((node) => node.gpus.length === 0);
  return (
    <search className={classes.filters} aria-label={t`Filters`}>
      <SearchField
        className={classes.find}
        label={t`Find a node`}
        placeholder={t`Name, partition, reason …`}
        value={search.q ?? ''}
        onSearch={(q) => go(changed(search, { q }))}
      />
      <NativeSelect
        aria-label={t`Partition`}
        value={search.partition ?? ''}
        onChange={(event) => go(changed(search, { partition: event.currentTarget.value }))}
        data={[{ value: '', label: t`All partitions` }, ...partitions]}
      />
      {types.length > 0 && (
        <NativeSelect
          aria-label={t`GPU type`}
          value={search.gpu ?? ''}
          onChange={(event) => go(changed(search, { gpu: event.currentTarget.value }))}
          data={[
            { value: '', label: t`Any GPU or none` },
            ...types,
            ...(without ? [{ value: NO_GPU, label: t`Without GPUs` }] : []),
          ]}
        />
      )}
      <NativeSelect
        aria-label={t`State`}
        value={search.show ?? ''}
        onChange={(event) => {
          const show = SHOWS.find(({ value }) => value === event.currentTarget.value)?.value;
          go(changed(search, { show: show || undefined }));
        }}
        data={[...SHOWS]}
      />
      <p className={classes.count} role="status">
        {shown === nodes.length
          ? nodesText(shown)
          : plural(nodes.length, { one: `${left} of # node`, other: `${left} of # nodes` })}
      </p>
    </search>
  );
}
