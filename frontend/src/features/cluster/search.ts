/** What of the cluster is shown, kept in the page's address. Pure. */

export type View = 'picture' | 'table';
export type Show = 'free' | 'mine' | 'busy' | 'out';
export type Column = 'name' | 'state' | 'gpus' | 'cpus' | 'memory' | 'partitions';

export interface ClusterSearch {
  view?: 'table';
  q?: string;
  partition?: string;
  /** a type of GPU, or NO_GPU */
  gpu?: string;
  show?: Show;
  sort?: Exclude<Column, 'name'>;
  desc?: true;
  /** the node that is looked at */
  node?: string;
}

/** In place of a type: nodes without GPUs. No type of Slurm's is called so. */
export const NO_GPU = '-';

const SHOWS: readonly Show[] = ['free', 'mine', 'busy', 'out'];
const COLUMNS: readonly Column[] = ['name', 'state', 'gpus', 'cpus', 'memory', 'partitions'];
const TEXTS = ['q', 'partition', 'gpu', 'node'] as const;

/** Takes an address's parameters as they are; what means nothing is left out. */
export function readClusterSearch(search: Record<string, unknown>): ClusterSearch {
  const found: ClusterSearch = {};
  for (const name of TEXTS) {
    const value = search[name];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
    if (text !== '') found[name] = text;
  }
  if (search.view === 'table') found.view = 'table';
  const show = SHOWS.find((one) => one === search.show);
  if (show) found.show = show;
  const sort = COLUMNS.find((one) => one === search.sort);
  if (sort && sort !== 'name') found.sort = sort;
  if (search.desc === true) found.desc = true;
  return found;
}

type Change = { [K in keyof ClusterSearch]?: ClusterSearch[K] | undefined };

/** Some of it changed; undefined and empty texts take it away. */
export const changed = (search: ClusterSearch, change: Change): ClusterSearch =>
  readClusterSearch({ ...search, ...change });

/** By this column; once more turns the order round. */
export function sortBy(search: ClusterSearch, column: Column): ClusterSearch {
  const again = (search.sort ?? 'name') === column;
  return changed(search, {
    sort: column === 'name' ? undefined : column,
    desc: again && !search.desc ? true : undefined,
  });
}

export const isFiltered = ({ q, partition, gpu, show }: ClusterSearch): boolean =>
  [q, partition, gpu, show].some((one) => one !== undefined);

export const unfiltered = (search: ClusterSearch): ClusterSearch =>
  changed(search, { q: undefined, partition: undefined, gpu: undefined, show: undefined });
