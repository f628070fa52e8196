/** Which jobs are chosen: some, one by one, or all that the filters let through. Pure. */
import type { Job } from '@/api/types';
import { isLive } from '@/live/reducer';

export type Selection = { kind: 'some'; ids: ReadonlySet<string> } | { kind: 'all'; until: string };

export const NOTHING: Selection = { kind: 'some', ids: new Set() };

/** So many can be named in one request. */
export const MOST_NAMED = 500;
export const MOST_COMPARED = 8;

export const isChosen = (selection: Selection, id: string): boolean =>
  selection.kind === 'all' || selection.ids.has(id);

/** One more or one less. Of all that match, one less is those that are shown, without it. */
export function turned(selection: Selection, id: string, shown: readonly Job[]): Selection {
  const before = selection.kind === 'all' ? shown.map((job) => job.id) : selection.ids;
  const ids = new Set(before);
  if (!ids.delete(id)) ids.add(id);
  return { kind: 'some', ids };
}

/** The chosen ones among those that are shown: what has left the list is chosen no more. */
export const chosenOf = (selection: Selection, shown: readonly Job[]): Job[] =>
  shown.filter(({ id }) => isChosen(selection, id));

export interface Possible {
  cancel: Job[];
  remove: Job[];
}

/** What can be done to which of them. */
export function possible(jobs: readonly Job[]): Possible {
  return {
    cancel: jobs.filter((job) => isLive(job) && job.state !== 'stopping'),
    remove: jobs.filter((job) => !isLive(job)),
  };
}

/** Pieces that one request can name. */
export function bundles(ids: readonly string[]): string[][] {
  const found: string[][] = [];
  for (let at = 0; at < ids.length; at += MOST_NAMED) found.push(ids.slice(at, at + MOST_NAMED));
  return found;
}
