/** The selection of a folder's entries. Rows are identified by index, entries by path, so that the
 * selection survives when the list grows. */

export interface Selection {
  paths: ReadonlySet<string>;
  /** the active row, or -1 */
  active: number;
  /** the start of a range */
  anchor: number;
}

export const NOTHING: Selection = { paths: new Set(), active: -1, anchor: -1 };

interface Rowed {
  path: string;
}

const within = (row: number, rows: readonly Rowed[]): number =>
  Math.max(0, Math.min(rows.length - 1, row));

/** Make the row active without selecting it. */
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

/** Select the range from the anchor to this row, in addition to the earlier selection. */
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
