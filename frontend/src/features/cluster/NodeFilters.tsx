import { plural, t } from '@lingui/core/macro';
import { NativeSelect } from '@mantine/core';
import type { Cluster } from '@/api/types';
import { countText } from '@/lib/countText';
import { nodeCountText } from '@/lib/resourceLabels';
import { SearchField } from '@/ui/SearchField';
import classes from './Cluster.module.css';
import { conditionLabel } from './labels';
import { type ClusterSearch, CONDITIONS, NO_GPU, type NodeStateFilter, withChange } from './search';

interface Props {
  cluster: Cluster;
  /** the number of matching nodes; undefined while it is not known */
  count: number | undefined;
  search: ClusterSearch;
  go: (next: ClusterSearch) => void;
}

const NODE_STATE_FILTERS: readonly { value: NodeStateFilter; label: string }[] = [
  { value: 'free', label: t`With free resources` },
  { value: 'mine', label: t`With my jobs or sessions` },
  { value: 'busy', label: t`With jobs` },
  { value: 'out', label: t`Out of service` },
];
const FREE_GPUS = [1, 2, 4, 8];

/** The filters of the nodes, kept in the address, so that a link shows the same. */
export function NodeFilters({ cluster, count, search, go }: Props) {
  const types = cluster.gpus.map(({ type }) => type);
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
        data={[
          { value: '', label: t`All partitions` },
          ...cluster.partitions.map(({ name }) => name),
        ]}
      />
      {types.length > 0 && (
        <>
          <NativeSelect
            aria-label={t`GPU type`}
            value={search.gpu ?? ''}
            onChange={(event) => go(withChange(search, { gpu: event.currentTarget.value }))}
            data={[
              { value: '', label: t`All GPU types` },
              ...types,
              { value: NO_GPU, label: t`Without GPUs` },
            ]}
          />
          <NativeSelect
            aria-label={t`Free GPUs`}
            value={search.free ?? ''}
            onChange={(event) =>
              go(withChange(search, { free: Number(event.currentTarget.value) || undefined }))
            }
            data={[
              { value: '', label: t`Any number of free GPUs` },
              ...freeChoices(search.free).map((free) => ({
                value: String(free),
                label: plural(free, { one: '# free GPU or more', other: '# free GPUs or more' }),
              })),
            ]}
          />
        </>
      )}
      <StateSelect cluster={cluster} search={search} go={go} />
      {count !== undefined && (
        <p className={classes.count} role="status">
          {matchText(count, cluster.nodes)}
        </p>
      )}
    </search>
  );
}

/** Return the choices, plus the address's number if it isn't one of them. */
const freeChoices = (free: number | undefined): number[] =>
  [...new Set([...FREE_GPUS, ...(free === undefined ? [] : [free])])].sort((a, b) => a - b);

function matchText(count: number, all: number): string {
  const left = countText(count);
  return count === all
    ? nodeCountText(count)
    : plural(all, { one: `${left} of # node`, other: `${left} of # nodes` });
}

/** The choice of nodes by their resources and jobs, or by a state that nodes are in now. */
function StateSelect({ cluster, search, go }: Omit<Props, 'count'>) {
  const present = CONDITIONS.filter(
    (condition) => condition === search.state || cluster.states[condition] !== undefined,
  );
  return (
    <NativeSelect
      aria-label={t`State`}
      value={search.state === undefined ? (search.show ?? '') : `${STATE}${search.state}`}
      onChange={(event) => {
        const { value } = event.currentTarget;
        const show = NODE_STATE_FILTERS.find((choice) => choice.value === value)?.value;
        const state = CONDITIONS.find((condition) => `${STATE}${condition}` === value);
        go(withChange(search, { show, state }));
      }}
      data={[
        { value: '', label: t`All states` },
        ...NODE_STATE_FILTERS,
        {
          group: t`State`,
          items: present.map((condition) => ({
            value: `${STATE}${condition}`,
            label: t`${{ state: conditionLabel({ condition }).label }} (${{ count: countText(cluster.states[condition] ?? 0) }})`,
          })),
        },
      ]}
    />
  );
}

/** Prefix of the values that are states: the state "free" differs from the filter for free resources. */
const STATE = 'state ';
