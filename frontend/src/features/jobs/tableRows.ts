/** The rows of the table of jobs: jobs in groups that fold, and arrays that unfold into their tasks.
 * Pure. */
import type { Job, Task } from '@/api/types';
import type { Grouping } from './search';

export type TableRow =
  | { kind: 'group'; key: string; group: string; jobs: readonly Job[]; isFolded: boolean }
  | { kind: 'job'; key: string; job: Job }
  | { kind: 'task'; key: string; job: Job; task: Task }
  /** stands for the tasks of an array that are not known yet */
  | { kind: 'loading'; key: string; job: Job };

/** The rows that are not in their initial state: groups begin unfolded, arrays folded. */
export interface Folds {
  /** the folded groups */
  groups: ReadonlySet<string>;
  /** the ids of the jobs whose arrays are unfolded */
  arrays: ReadonlySet<string>;
}

export const NO_FOLDS: Folds = { groups: new Set(), arrays: new Set() };

/** Fold a group or unfold an array, or the reverse. */
export function toggledFold(folds: Folds, kind: keyof Folds, key: string): Folds {
  const keys = new Set(folds[kind]);
  if (!keys.delete(key)) keys.add(key);
  return { ...folds, [kind]: keys };
}

const NUMBER_AT_END = /[\s._\-#=:(]*\d+(?:\.\d+)?\)?$/;

/** Return the name without its number: "sweep-12" and "sweep-13" belong together. */
export function seriesOf(name: string): string {
  return name.replace(NUMBER_AT_END, '') || name;
}

/** Return the key of a job's group; an empty one for jobs without a template. */
export const groupOf = (job: Job, grouping: Grouping): string =>
  grouping === 'template' ? (job.template ?? '') : seriesOf(job.name);

function toJobRows(
  job: Job,
  folds: Folds,
  tasks: ReadonlyMap<string, readonly Task[]>,
): TableRow[] {
  const row: TableRow = { kind: 'job', key: job.id, job };
  if (job.array === null || !folds.arrays.has(job.id)) return [row];
  const known = tasks.get(job.id);
  if (known === undefined) return [row, { kind: 'loading', key: `${job.id}:loading`, job }];
  return [
    row,
    ...known.map((task): TableRow => ({ kind: 'task', key: `${job.id}:${task.index}`, job, task })),
  ];
}

/** Return the rows. Groups come in the order of their first job. `tasks` are by job id. */
export function tableRows(
  jobs: readonly Job[],
  grouping: Grouping | undefined,
  folds: Folds,
  tasks: ReadonlyMap<string, readonly Task[]>,
): TableRow[] {
  const flat = (some: readonly Job[]): TableRow[] =>
    some.flatMap((job) => toJobRows(job, folds, tasks));
  if (grouping === undefined) return flat(jobs);
  const groups = new Map<string, Job[]>();
  for (const job of jobs) {
    const group = groupOf(job, grouping);
    const members = groups.get(group);
    if (members) members.push(job);
    else groups.set(group, [job]);
  }
  return [...groups].flatMap(([group, members]): TableRow[] => {
    const isFolded = folds.groups.has(group);
    const head: TableRow = { kind: 'group', key: `group:${group}`, group, jobs: members, isFolded };
    return isFolded ? [head] : [head, ...flat(members)];
  });
}

/** Return the jobs of the rows, in their order. */
export const jobsOf = (rows: readonly TableRow[]): Job[] =>
  rows.flatMap((row) => (row.kind === 'job' ? [row.job] : []));
