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

interface Row {
  path: string;
}

const within = (row: number, rows: readonly Row[]): number =>
  Math.max(0, Math.min(rows.length - 1, row));

/** Make the row active without selecting it. */
export function moveTo(selection: Selection, rows: readonly Row[], row: number): Selection {
  const active = within(row, rows);
  return { ...selection, active, anchor: active };
}

/** Select an entry, or deselect it. */
export function toggle(selection: Selection, rows: readonly Row[], row: number): Selection {
  const entry = rows[row];
  if (!entry) return selection;
  const paths = new Set(selection.paths);
  if (!paths.delete(entry.path)) paths.add(entry.path);
  return { paths, active: row, anchor: row };
}

/** Select the range from the anchor to this row, in addition to the earlier selection. */
export function extend(selection: Selection, rows: readonly Row[], row: number): Selection {
  const active = within(row, rows);
  const anchor = selection.anchor < 0 ? active : selection.anchor;
  const [from, to] = anchor < active ? [anchor, active] : [active, anchor];
  const paths = new Set(selection.paths);
  for (const entry of rows.slice(from, to + 1)) paths.add(entry.path);
  return { paths, active, anchor };
}

/** Select all entries. */
export const selectAll = (selection: Selection, rows: readonly Row[]): Selection => ({
  ...selection,
  paths: new Set(rows.map(({ path }) => path)),
});

/** Deselect all entries; the active row stays. */
export const deselectAll = (selection: Selection): Selection => ({
  ...selection,
  paths: new Set(),
});
