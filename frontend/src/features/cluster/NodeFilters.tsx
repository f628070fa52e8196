import { NativeSelect } from '@mantine/core';
import { SearchField } from '@/ui/SearchField';
import classes from './Cluster.module.css';
import { gpuTypes } from './picture';
import { type ClusterSearch, changed, NO_GPU, type Show } from './search';
import type { SeenNode } from './shapes';
import { count, nodesText } from './words';

interface Props {
  nodes: readonly SeenNode[];
  /** how many are left */
  shown: number;
  search: ClusterSearch;
  go: (next: ClusterSearch) => void;
}

const SHOWS: readonly { value: Show | ''; label: string }[] = [
  { value: '', label: 'In any state' },
  { value: 'free', label: 'With room' },
  { value: 'mine', label: 'With something of mine' },
  { value: 'busy', label: 'With jobs' },
  { value: 'out', label: 'Out of service' },
];

/** Which nodes are shown; kept in the address, so that a link shows the same. */
export function NodeFilters({ nodes, shown, search, go }: Props) {
  const partitions = [...new Set(nodes.flatMap((node) => node.partitions))].sort();
  const types = gpuTypes(nodes);
  const without = nodes.some((node) => node.gpus.length === 0);
  return (
    <search className={classes.filters} aria-label="Which nodes are shown">
      <SearchField
        className={classes.find}
        label="Find a node"
        placeholder="Name, partition, reason …"
        value={search.q ?? ''}
        onSearch={(q) => go(changed(search, { q }))}
      />
      <NativeSelect
        aria-label="Partition"
        value={search.partition ?? ''}
        onChange={(event) => go(changed(search, { partition: event.currentTarget.value }))}
        data={[{ value: '', label: 'All partitions' }, ...partitions]}
      />
      {types.length > 0 && (
        <NativeSelect
          aria-label="GPU type"
          value={search.gpu ?? ''}
          onChange={(event) => go(changed(search, { gpu: event.currentTarget.value }))}
          data={[
            { value: '', label: 'Any GPU or none' },
            ...types,
            ...(without ? [{ value: NO_GPU, label: 'Without GPUs' }] : []),
          ]}
        />
      )}
      <NativeSelect
        aria-label="State"
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
          : `${count(shown)} of ${nodesText(nodes.length)}`}
      </p>
    </search>
  );
}
