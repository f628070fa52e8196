/** The selection of jobs: individual ones, or all that match the filters. Pure. */
import type { Job } from '@/api/types';
import { isActive } from '@/live/reducer';

/** `until`: jobs submitted later are not selected. */
export type Selection = { kind: 'some'; ids: ReadonlySet<string> } | { kind: 'all'; until: string };

export const NOTHING: Selection = { kind: 'some', ids: new Set() };

/** The API's limit. */
export const MAX_IDS_PER_REQUEST = 500;
export const MAX_COMPARED = 8;

export const isChosen = (selection: Selection, id: string): boolean =>
  selection.kind === 'all' || selection.ids.has(id);

/** Toggle one job. If all matching jobs were selected, keep the loaded ones except for it. */
export function toggled(selection: Selection, id: string, loaded: readonly Job[]): Selection {
  const before = selection.kind === 'all' ? loaded.map((job) => job.id) : selection.ids;
  const ids = new Set(before);
  if (!ids.delete(id)) ids.add(id);
  return { kind: 'some', ids };
}

/** Add the jobs from one row to another to the selection; if one of the two isn't loaded, only the
 * other. */
export function withRange(
  selection: Selection,
  rows: readonly Job[],
  from: string,
  to: string,
): Selection {
  if (selection.kind === 'all') return selection;
  const ends = [from, to].map((id) => rows.findIndex((job) => job.id === id));
  const present = ends.filter((index) => index >= 0);
  const between = rows.slice(Math.min(...present), Math.max(...present) + 1);
  return { kind: 'some', ids: new Set([...selection.ids, ...between.map(({ id }) => id)]) };
}

/** Return the selected jobs among the loaded ones; those that have left the list are deselected. */
export const selectedJobs = (selection: Selection, loaded: readonly Job[]): Job[] =>
  loaded.filter(({ id }) => isChosen(selection, id));

/** The jobs that each action applies to. */
export interface ActionTargets {
  cancel: Job[];
  remove: Job[];
}

/** Return the jobs to which each action applies. */
export function actionTargets(jobs: readonly Job[]): ActionTargets {
  return {
    cancel: jobs.filter((job) => isActive(job) && job.state !== 'stopping'),
    remove: jobs.filter((job) => !isActive(job)),
  };
}

/** Split ids into batches for one request each. */
export function toBatches(ids: readonly string[]): string[][] {
  const batches: string[][] = [];
  for (let index = 0; index < ids.length; index += MAX_IDS_PER_REQUEST)
    batches.push(ids.slice(index, index + MAX_IDS_PER_REQUEST));
  return batches;
}
