/** The filters and order of the list of jobs: from and to the page's address, and as API
 * parameters. Pure. */
import type { Job, Outcome } from '@/api/types';
import { isDay, startOfDay } from '@/lib/isoDays';
import { searchText } from '@/lib/searchText';
import { columnValue, isSortableOwnColumn } from './columnValues';

const STATE_FILTERS = [
  'live',
  'waiting',
  'running',
  'ended',
  'completed',
  'failed',
  'timeout',
  'out_of_memory',
  'cancelled',
] as const;
export type StateFilter = (typeof STATE_FILTERS)[number];

const ORDERS = [
  'oldest',
  'name',
  'name_down',
  'ended',
  'ended_up',
  'started',
  'started_up',
  'duration',
  'duration_up',
  'value',
  'value_up',
] as const;
export type ListOrder = (typeof ORDERS)[number];

const GROUPS = ['template', 'name'] as const;
export type Grouping = (typeof GROUPS)[number];

/** Selects jobs without a template. No template can have this name. */
export const NO_TEMPLATE = '-';

export interface JobsSearch {
  /** all if absent */
  state?: StateFilter;
  /** a search in names and Slurm job ids */
  q?: string;
  template?: string;
  /** a date in the reader's time zone, as 2026-11-22 */
  since?: string;
  /** newest first if absent */
  order?: ListOrder;
  /** the column of the orders by value: "param:NAME" or "metric:TAG" */
  by?: string;
  /** not grouped if absent */
  group?: Grouping;
}

/** The filters alone. */
export type JobsFilter = Omit<JobsSearch, 'order' | 'by' | 'group'>;

const oneOf = <T extends string>(all: readonly T[], value: unknown): T | undefined =>
  all.find((option) => option === value);

/** Return a valid order; an order by value needs a column, and no other has one. */
function readOrder(search: Record<string, unknown>): Pick<JobsSearch, 'order' | 'by'> {
  const order = oneOf(ORDERS, search.order);
  if (order !== 'value' && order !== 'value_up') return order ? { order } : {};
  const { by } = search;
  return typeof by === 'string' && isSortableOwnColumn(by) ? { order, by } : {};
}

/** Parse an address's parameters; invalid ones are dropped. */
export function readJobsSearch(search: Record<string, unknown>): JobsSearch {
  const state = oneOf(STATE_FILTERS, search.state);
  const group = oneOf(GROUPS, search.group);
  const [q, template, since] = [search.q, search.template, search.since].map(searchText);
  return {
    ...(state && { state }),
    ...(q && { q }),
    ...(template && { template }),
    ...(since && isDay(since) && { since }),
    ...readOrder(search),
    ...(group && { group }),
  };
}

export const filterOf = (search: JobsSearch): JobsFilter => {
  const { order: _order, by: _by, group: _group, ...filter } = search;
  return filter;
};

/** Return whether any filter is set. */
export const isFiltered = (search: JobsSearch): boolean => Object.keys(filterOf(search)).length > 0;

const OUTCOMES: Partial<Record<StateFilter, Outcome[]>> = {
  completed: ['completed'],
  failed: ['failed', 'timeout', 'out_of_memory', 'node_failed'],
  timeout: ['timeout'],
  out_of_memory: ['out_of_memory'],
  cancelled: ['cancelled'],
};

export interface JobsQuery {
  state: 'live' | 'waiting' | 'running' | 'ended' | 'all';
  /** empty means any */
  outcome: Outcome[];
  template?: string;
  q?: string;
  since?: string;
}

/** Convert to API parameters, which are times: a day begins at the reader's midnight. */
export function toQuery({ state, q, template, since }: JobsFilter): JobsQuery {
  const outcome = (state && OUTCOMES[state]) ?? [];
  const plain = state === 'live' || state === 'waiting' || state === 'running' ? state : undefined;
  return {
    state: plain ?? (state === undefined ? 'all' : 'ended'),
    outcome,
    ...(template && { template: template === NO_TEMPLATE ? '' : template }),
    ...(q && { q }),
    ...(since && { since: startOfDay(since) }),
  };
}

type MatchedFields = Pick<
  Job,
  | 'state'
  | 'outcome'
  | 'name'
  | 'job_id'
  | 'template'
  | 'submitted_at'
  | 'started_at'
  | 'ended_at'
  | 'parameters'
  | 'metrics'
>;

const WAITING = ['submitting', 'queued'];
const LIVE_STATES = [...WAITING, 'starting', 'running', 'suspended', 'stopping'];

function matchesState(
  { state, outcome }: Pick<MatchedFields, 'state' | 'outcome'>,
  filter: StateFilter | undefined,
): boolean {
  const ended = state === 'ended';
  const outcomes = filter && OUTCOMES[filter];
  if (outcomes) return ended && outcome !== null && outcomes.includes(outcome);
  if (filter === undefined) return true;
  if (filter === 'ended') return ended;
  if (ended || filter === 'live') return !ended;
  return WAITING.includes(state) === (filter === 'waiting');
}

type ListedTime = 'started_at' | 'ended_at';

/** The orders that list only jobs with certain times, and these times. */
export const REQUIRED_TIMES: Partial<Record<ListOrder, readonly [ListedTime, ...ListedTime[]]>> = {
  started: ['started_at'],
  started_up: ['started_at'],
  ended: ['ended_at'],
  ended_up: ['ended_at'],
  duration: ['ended_at', 'started_at'],
  duration_up: ['ended_at', 'started_at'],
};

/** Return whether the portal would list this job; the same rules as the portal's. */
export function matches(job: MatchedFields, search: JobsSearch): boolean {
  const { state, q = '', template, since, order, by } = search;
  if (!matchesState(job, state)) return false;
  if (by !== undefined && columnValue(job, by) === null) return false;
  if (order && REQUIRED_TIMES[order]?.some((time) => job[time] === null)) return false;
  if (template && job.template !== (template === NO_TEMPLATE ? null : template)) return false;
  if (since && Date.parse(job.submitted_at) < Date.parse(startOfDay(since))) return false;
  const text = q.toLowerCase();
  return text === '' || job.name.toLowerCase().includes(text) || String(job.job_id) === q;
}

/** Sum the counts that match a filter; keys are states, or outcomes of ended jobs (`ended` if a job has
 * none). */
export function countMatching(
  byState: Readonly<Record<string, number>>,
  filter: StateFilter | undefined,
): number {
  const isActiveState = (key: string): key is Job['state'] => LIVE_STATES.includes(key);
  return Object.entries(byState)
    .filter(([key]) => {
      if (isActiveState(key)) return matchesState({ state: key, outcome: null }, filter);
      return matchesState(
        { state: 'ended', outcome: key === 'ended' ? null : (key as Outcome) },
        filter,
      );
    })
    .reduce((sum, [, count]) => sum + count, 0);
}
