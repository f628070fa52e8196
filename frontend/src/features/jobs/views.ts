/** Saved views of the table of jobs. Pure. */
import { t } from '@lingui/core/macro';
import type { components } from '@/api/schema';
import { type JobsSearch, readJobsSearch } from './search';

export type JobsView = components['schemas']['JobsViewOut'];

/** The portal's limit. */
export const MAX_VIEWS = 50;
export const LONGEST_NAME = 100;

/** Return a view of the table as it is. `columns` null: the default ones. */
export const toView = (
  name: string,
  search: JobsSearch,
  columns: readonly string[] | null,
): JobsView => ({ name, search: { ...search }, columns: columns && [...columns] });

/** Return a view's filters, order and grouping; those of another version are dropped. */
export const searchOf = (view: JobsView): JobsSearch => readJobsSearch(view.search);

const asKey = (search: JobsSearch, columns: readonly string[] | null): string =>
  JSON.stringify([Object.entries(search).sort(), columns && [...columns].sort()]);

/** Return the view that the table shows now; undefined if none does. */
export function currentView(
  views: readonly JobsView[],
  search: JobsSearch,
  columns: readonly string[] | null,
): JobsView | undefined {
  const now = asKey(search, columns);
  return views.find((view) => asKey(searchOf(view), view.columns) === now);
}

/** Return why a view can't have this name; null if it can. `own`: its present name. */
export function checkViewName(
  views: readonly JobsView[],
  name: string,
  own?: string,
): string | null {
  const taken = views.some((view) => view.name === name.trim() && view.name !== own);
  return taken ? t`Another view has this name.` : null;
}

export const renamedView = (views: readonly JobsView[], from: string, to: string): JobsView[] =>
  views.map((view) => (view.name === from ? { ...view, name: to } : view));

export const withoutView = (views: readonly JobsView[], name: string): JobsView[] =>
  views.filter((view) => view.name !== name);

/** Put a deleted view back to its place. */
export const restoredView = (
  views: readonly JobsView[],
  view: JobsView,
  index: number,
): JobsView[] => [...views.slice(0, index), view, ...views.slice(index)];
