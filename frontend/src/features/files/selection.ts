/** Which entries of a folder are selected. Rows are known by their place in the list, entries by
 * their path, so that a selection outlives a list that grew. */

export interface Selection {
  paths: ReadonlySet<string>;
  /** the row one is at, or -1 */
  active: number;
  /** where a range begins */
  anchor: number;
}

export const NOTHING: Selection = { paths: new Set(), active: -1, anchor: -1 };

interface Rowed {
  path: string;
}

const within = (row: number, rows: readonly Rowed[]): number =>
  Math.max(0, Math.min(rows.length - 1, row));

/** The row becomes the active one; nothing is selected by that. */
export function moveTo(now: Selection, rows: readonly Rowed[], row: number): Selection {
  const active = within(row, rows);
  return { ...now, active, anchor: active };
}

export function toggle(now: Selection, rows: readonly Rowed[], row: number): Selection {
  const entry = rows[row];
  if (!entry) return now;
  const paths = new Set(now.paths);
  if (!paths.delete(entry.path)) paths.add(entry.path);
  return { paths, active: row, anchor: row };
}

/** Everything from where the range began to this row, beside what was selected before. */
export function extend(now: Selection, rows: readonly Rowed[], row: number): Selection {
  const active = within(row, rows);
  const anchor = now.anchor < 0 ? active : now.anchor;
  const [from, to] = anchor < active ? [anchor, active] : [active, anchor];
  const paths = new Set(now.paths);
  for (const entry of rows.slice(from, to + 1)) paths.add(entry.path);
  return { paths, active, anchor };
}

export const all = (now: Selection, rows: readonly Rowed[]): Selection => ({
  ...now,
  paths: new Set(rows.map(({ path }) => path)),
});

export const none = (now: Selection): Selection => ({ ...now, paths: new Set() });
