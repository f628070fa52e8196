/** The cluster page's filters and choices, kept in its address. Pure. */
import type { Condition, HistoryRange } from './types';

export type View = 'picture' | 'table';
export type NodeStateFilter = 'free' | 'mine' | 'busy' | 'out';
export type Column = 'name' | 'state' | 'gpus' | 'cpus' | 'memory' | 'partitions';

export interface ClusterSearch {
  view?: 'table';
  q?: string;
  partition?: string;
  /** a type of GPU, or NO_GPU */
  gpu?: string;
  show?: NodeStateFilter;
  state?: Condition;
  /** the least number of free GPUs */
  free?: number;
  sort?: Exclude<Column, 'name'>;
  desc?: true;
  /** the node whose details are open */
  node?: string;
  /** the range of the history; 24 hours by default */
  history?: HistoryRange;
}

export const HISTORY_RANGES: readonly HistoryRange[] = ['24h', '7d', '30d', '1y'];

/** Selects nodes without GPUs. No GPU type of Slurm has this name. */
export const NO_GPU = '-';

export const CONDITIONS: readonly Condition[] = [
  'free',
  'partly',
  'full',
  'reserved',
  'maintenance',
  'draining',
  'drained',
  'restarting',
  'waking',
  'asleep',
  'silent',
  'down',
  'unknown',
];
const MAX_FREE = 1024;
const NODE_STATE_FILTERS: readonly NodeStateFilter[] = ['free', 'mine', 'busy', 'out'];
const COLUMNS: readonly Column[] = ['name', 'state', 'gpus', 'cpus', 'memory', 'partitions'];
const TEXTS = ['q', 'partition', 'gpu', 'node'] as const;

/** Parse an address's parameters; invalid ones are dropped. */
export function readClusterSearch(search: Record<string, unknown>): ClusterSearch {
  const result: ClusterSearch = {};
  for (const name of TEXTS) {
    const value = search[name];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
    if (text !== '') result[name] = text;
  }
  if (search.view === 'table') result.view = 'table';
  const show = NODE_STATE_FILTERS.find((choice) => choice === search.show);
  if (show) result.show = show;
  const state = CONDITIONS.find((choice) => choice === search.state);
  if (state) result.state = state;
  const free = Number(search.free);
  if (Number.isInteger(free) && free > 0 && free <= MAX_FREE) result.free = free;
  const sort = COLUMNS.find((column) => column === search.sort);
  if (sort && sort !== 'name') result.sort = sort;
  if (search.desc === true) result.desc = true;
  const history = HISTORY_RANGES.find((range) => range === search.history);
  if (history && history !== '24h') result.history = history;
  return result;
}

type Change = { [K in keyof ClusterSearch]?: ClusterSearch[K] | undefined };

/** Return the parameters with a change applied; undefined and empty texts remove one. */
export const withChange = (search: ClusterSearch, change: Change): ClusterSearch =>
  readClusterSearch({ ...search, ...change });

/** Sort by this column; again reverses the order. */
export function sortBy(search: ClusterSearch, column: Column): ClusterSearch {
  const isCurrent = (search.sort ?? 'name') === column;
  return withChange(search, {
    sort: column === 'name' ? undefined : column,
    desc: isCurrent && !search.desc ? true : undefined,
  });
}

/** The filters among the parameters. */
export type NodeFilter = Pick<ClusterSearch, 'q' | 'partition' | 'gpu' | 'show' | 'state' | 'free'>;

const FILTERS = ['q', 'partition', 'gpu', 'show', 'state', 'free'] as const;

export function filterOf(search: ClusterSearch): NodeFilter {
  const { q, partition, gpu, show, state, free } = readClusterSearch({ ...search });
  return Object.fromEntries(
    Object.entries({ q, partition, gpu, show, state, free }).filter(([, value]) => value),
  );
}

/** Return a filter as the API's parameters. */
export function toQuery({ free, ...filter }: NodeFilter) {
  return { ...filter, ...(free === undefined ? {} : { gpus_free: free }) };
}

export const isFiltered = (search: ClusterSearch): boolean =>
  FILTERS.some((name) => search[name] !== undefined);

export const unfiltered = (search: ClusterSearch): ClusterSearch =>
  withChange(search, Object.fromEntries(FILTERS.map((name) => [name, undefined])));
