import { plural, t } from '@lingui/core/macro';
import { NativeSelect } from '@mantine/core';
import { SearchField } from '@/ui/SearchField';
import classes from './Cluster.module.css';
import { countText, nodesText } from './labels';
import { gpuTypes } from './nodeMap';
import { type ClusterSearch, NO_GPU, type Show, withChange } from './search';
import type { VisibleNode } from './types';

interface Props {
  nodes: readonly VisibleNode[];
  /** the number of matching nodes */
  count: number;
  search: ClusterSearch;
  go: (next: ClusterSearch) => void;
}

const SHOWS: readonly { value: Show | ''; label: string }[] = [
  { value: '', label: t`All states` },
  { value: 'free', label: t`With free resources` },
  { value: 'mine', label: t`With my jobs or sessions` },
  { value: 'busy', label: t`With jobs` },
  { value: 'out', label: t`Out of service` },
];

/** The filters of the nodes, kept in the address, so that a link shows the same. */
export function NodeFilters({ nodes, count, search, go }: Props) {
  const partitions = [...new Set(nodes.flatMap((node) => node.partitions))].sort();
  const types = gpuTypes(nodes);
  const left = countText(count);
  const without = nodes.some((node) => node.gpus.length === 0);
  return (
    <search className={classes.filters} aria-label={t`Filters`}>
      <SearchField
        className={classes.find}
        label={t`Find a node`}
        placeholder={t`Name, partition, reason …`}
        value={search.q ?? ''}
        onSearch={(q) => go(withChange(search, { q }))}
      />
      <NativeSelect
        aria-label={t`Partition`}
        value={search.partition ?? ''}
        onChange={(event) => go(withChange(search, { partition: event.currentTarget.value }))}
        data={[{ value: '', label: t`All partitions` }, ...partitions]}
      />
      {types.length > 0 && (
        <NativeSelect
          aria-label={t`GPU type`}
          value={search.gpu ?? ''}
          onChange={(event) => go(withChange(search, { gpu: event.currentTarget.value }))}
          data={[
            { value: '', label: t`All GPU types` },
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
          go(withChange(search, { show: show || undefined }));
        }}
        data={[...SHOWS]}
      />
      <p className={classes.count} role="status">
        {count === nodes.length
          ? nodesText(count)
          : plural(nodes.length, { one: `${left} of # node`, other: `${left} of # nodes` })}
      </p>
    </search>
  );
}
