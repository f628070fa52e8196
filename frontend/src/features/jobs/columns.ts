/** The columns of the table of jobs: all of them, the shown ones, and how each sorts the list. Pure. */
import { t } from '@lingui/core/macro';
import type { Job } from '@/api/types';
import { escapeInvisible } from '@/lib/escapeInvisible';
import {
  isSortableOwnColumn,
  LONGEST_ID,
  metricColumn,
  metricOf,
  parameterColumn,
  parameterOf,
} from './columnValues';
import type { JobsSearch, ListOrder } from './search';

export type Direction = 'ascending' | 'descending';

export interface Column {
  /** "state", "param:NAME" for a template's parameter, or "metric:TAG" for a final metric */
  id: string;
  label: string;
  /** the width in rem; a column that grows shares the rest of the table with the name */
  rem: number;
  grows?: true;
  isNumber?: true;
  /** explains the values, if the label doesn't */
  hint?: string;
}

/** The minimum width of the name column. */
export const NAME_REM = 12;

/** The portal measures at most this many running jobs of a user at once. */
const MEASURED_JOBS = 8;

/** All columns but the name, which is always shown, the parameters and the metrics. */
const COLUMNS: readonly Column[] = [
  { id: 'state', label: t`State`, rem: 7.5 },
  { id: 'template', label: t`Template`, rem: 9.5 },
  { id: 'submitted', label: t({ message: 'Submitted', context: 'when' }), rem: 8.5 },
  { id: 'started', label: t({ message: 'Started', context: 'when' }), rem: 9.5 },
  { id: 'ended', label: t({ message: 'Ended', context: 'when' }), rem: 9.5 },
  { id: 'duration', label: t`Duration`, rem: 6, isNumber: true },
  { id: 'resources', label: t`Requested`, rem: 11.5 },
  { id: 'gpus', label: t`GPUs`, rem: 6.5 },
  { id: 'memory', label: t`Memory used`, rem: 8, isNumber: true },
  { id: 'cpu', label: t`CPU utilization`, rem: 8.5, isNumber: true },
  {
    id: 'gpu',
    label: t`GPU utilization`,
    rem: 8.5,
    isNumber: true,
    hint: t`Ended jobs: the mean. Running jobs: the present use, of the newest ${{ count: MEASURED_JOBS }}.`,
  },
  { id: 'node', label: t`Node`, rem: 6 },
  { id: 'partition', label: t`Partition`, rem: 7 },
  { id: 'reason', label: t`Reason`, rem: 10, grows: true },
  { id: 'exit', label: t`Exit code`, rem: 6, isNumber: true },
  { id: 'environment', label: t`Environment`, rem: 10 },
  { id: 'number', label: t`Slurm job`, rem: 6.5, isNumber: true },
];

const DEFAULTS = ['state', 'template', 'submitted', 'duration', 'resources', 'node', 'reason'];

/** Return whether the portal stores the id: it refuses control and bidirectional characters. */
const isStorable = (id: string): boolean => id.length <= LONGEST_ID && escapeInvisible(id) === id;

/** Return the ids of the columns of the jobs' own parameters and metrics, each sorted. */
export function ownColumnIds(jobs: readonly Job[]): string[] {
  const namesOf = (pick: (job: Job) => object | null | undefined): string[] =>
    [...new Set(jobs.flatMap((job) => Object.keys(pick(job) ?? {})))].sort();
  return [
    ...namesOf((job) => job.parameters).map(parameterColumn),
    ...namesOf((job) => job.metrics).map(metricColumn),
  ].filter(isStorable);
}

/** Return the ids of the chosen columns; null stands for the default ones. */
export const chosenIds = (chosen: readonly string[] | null): readonly string[] =>
  chosen ?? DEFAULTS;

/** Return the name of a parameter or metric as it is shown. */
export const columnLabel = (id: string): string =>
  escapeInvisible(metricOf(id) ?? parameterOf(id) ?? id);

/** Return the column of a parameter or metric. */
function toOwnColumn(id: string): Column {
  const isMetric = metricOf(id) !== null;
  return { id, label: columnLabel(id), rem: 8, ...(isMetric && { isNumber: true }) };
}

/** Return all columns to choose from: the fixed ones, then those of the jobs' own parameters and metrics
 * (`own`), including chosen ones that no job has now. */
export function allColumns(chosen: readonly string[] | null, own: readonly string[]): Column[] {
  const isOwn = (id: string): boolean => parameterOf(id) !== null || metricOf(id) !== null;
  const kept = chosenIds(chosen).filter((id) => isOwn(id) && !own.includes(id));
  return [...COLUMNS, ...[...own, ...kept].map(toOwnColumn)];
}

/** Return the columns that are shown, in the order of all; unknown ids, written by another version,
 * are left out. */
export function shownColumns(chosen: readonly string[] | null): Column[] {
  const ids = new Set(chosenIds(chosen));
  return allColumns(chosen, []).filter(({ id }) => ids.has(id));
}

/** Show or hide a column; the rest keeps its order. */
export function toggledColumn(chosen: readonly string[] | null, id: string): string[] {
  const ids = chosenIds(chosen);
  return ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id];
}

interface Sorting {
  ascending: ListOrder | undefined;
  descending: ListOrder | undefined;
  /** the direction of the first click */
  first: Direction;
}

/** The sorts that the portal has an index for; undefined is its default, the newest first. */
const SORTS: Readonly<Record<string, Sorting>> = {
  name: { ascending: 'name', descending: 'name_down', first: 'ascending' },
  submitted: { ascending: 'oldest', descending: undefined, first: 'descending' },
  started: { ascending: 'started_up', descending: 'started', first: 'descending' },
  ended: { ascending: 'ended_up', descending: 'ended', first: 'descending' },
  duration: { ascending: 'duration_up', descending: 'duration', first: 'descending' },
};

/** The orders by a column of the jobs' own values, which are sorted without an index. */
const OWN_SORT: Sorting = { ascending: 'value_up', descending: 'value', first: 'ascending' };

type SearchOrder = Pick<JobsSearch, 'order' | 'by'>;

const sortingOf = (id: string): Sorting | undefined =>
  Object.hasOwn(SORTS, id) ? SORTS[id] : isSortableOwnColumn(id) ? OWN_SORT : undefined;

export const isSortable = (id: string): boolean => sortingOf(id) !== undefined;

/** Return how the list is sorted by a column; null if it is not. */
export function directionOf(id: string, { order, by }: SearchOrder): Direction | null {
  const sorting = sortingOf(id);
  if (!sorting || (sorting === OWN_SORT && by !== id)) return null;
  if (sorting.ascending === order) return 'ascending';
  return sorting.descending === order ? 'descending' : null;
}

/** Return the order after a click on a column's header: the column's first direction, then the other. */
export function orderAfterClick(id: string, search: SearchOrder): SearchOrder {
  const sorting = sortingOf(id);
  const { order, by } = search;
  if (!sorting) return { ...(order && { order }), ...(by && { by }) };
  const direction = directionOf(id, search);
  const other = direction === 'ascending' ? 'descending' : 'ascending';
  const next = sorting[direction === null ? sorting.first : other];
  return { ...(next && { order: next }), ...(sorting === OWN_SORT && { by: id }) };
}
