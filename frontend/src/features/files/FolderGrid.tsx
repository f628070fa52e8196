// biome-ignore-all lint/a11y/useSemanticElements: rows out of sight aren't drawn; a table would need them
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, see aria-activedescendant
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, UnstyledButton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, type MouseEvent, type ReactNode, useEffect, useRef } from 'react';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { sizeText } from '@/lib/sizes';
import { Time } from '@/ui/Time';
import { FileIcon } from './FileIcon';
import classes from './Files.module.css';
import { EXACT, type FilesSearch, goTo, type Sort, sortBy } from './search';
import { deselectAll, extend, moveTo, type Selection, selectAll, toggle } from './selection';
import { type Entry, isFolder } from './types';
import { scrollToRow, useWindowed } from './useWindowed';

const ROW_REM = 2.75;
const SCREENFUL = 10;

export interface GridActs {
  open: (entry: Entry) => void;
  up: () => void;
  rename: (entry: Entry) => void;
  remove: () => void;
}

interface Props {
  root: string;
  search: FilesSearch;
  entries: readonly Entry[];
  total: number;
  label: string;
  selection: Selection;
  select: (selection: Selection) => void;
  acts: GridActs;
  /** fetches the entries after the last one */
  more: () => void;
}

/** A grid of a folder's entries. Its rows are one tab stop: arrow keys move, Space selects, Enter
 * opens. */
export function FolderGrid(props: Props) {
  const { entries, total, label, selection, select, more } = props;
  const body = useRef<HTMLDivElement>(null);
  const { from, to } = useWindowed(body, entries.length, ROW_REM);
  useEffect(() => {
    if (to >= entries.length - SCREENFUL) more();
  }, [to, entries.length, more]);
  const chosenAll = entries.length > 0 && selection.paths.size >= entries.length;

  const keys = useKeys(props, body);
  const active = selection.active;
  return (
    <Paper
      className={classes.grid}
      role="grid"
      aria-label={label}
      aria-multiselectable
      aria-rowcount={total + 1}
      tabIndex={0}
      onKeyDown={keys}
      {...(active >= from && active < to ? { 'aria-activedescendant': rowId(active) } : {})}
    >
      <div role="rowgroup">
        <div role="row" className={`${classes.row} ${classes.heads}`} aria-rowindex={1}>
          <div className={classes.check} role="columnheader">
            <input
              type="checkbox"
              aria-label={t`Select all`}
              checked={chosenAll}
              onChange={() =>
                select(chosenAll ? deselectAll(selection) : selectAll(selection, entries))
              }
            />
          </div>
          <Head column="name" search={props.search}>
            <Trans>Name</Trans>
          </Head>
          <Head column="size" search={props.search} className={classes.size}>
            <Trans>Size</Trans>
          </Head>
          <Head column="modified" search={props.search} className={classes.when}>
            <Trans context="when a file was">Changed</Trans>
          </Head>
        </div>
      </div>
      <div role="rowgroup" ref={body}>
        <div role="presentation" style={{ height: `${from * ROW_REM}rem` }} />
        {entries.slice(from, to).map((entry, index) => (
          <Row key={entry.path} entry={entry} row={from + index} {...props} />
        ))}
        <div role="presentation" style={{ height: `${(entries.length - to) * ROW_REM}rem` }} />
      </div>
    </Paper>
  );
}

const rowId = (row: number): string => `file-row-${row}`;

function useKeys(props: Props, body: { current: HTMLElement | null }) {
  const { entries, selection, select, acts } = props;
  const go = (event: KeyboardEvent, row: number): void => {
    event.preventDefault();
    const next = event.shiftKey ? extend(selection, entries, row) : moveTo(selection, entries, row);
    select(next);
    scrollToRow(body.current, next.active, ROW_REM);
  };
  return (event: KeyboardEvent): void => {
    const { active } = selection;
    const entry = entries[active];
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + SCREENFUL,
      PageUp: active - SCREENFUL,
      Home: 0,
      End: entries.length - 1,
    };
    const row = steps[event.key];
    if (row !== undefined) {
      if (!event.altKey) go(event, row);
      return;
    }
    // checkboxes and headings handle their own keys
    if (event.target !== event.currentTarget) return;
    if (event.key === ' ') select(toggle(selection, entries, active));
    else if (event.key === 'a' && (event.ctrlKey || event.metaKey))
      select(selectAll(selection, entries));
    else if (event.key === 'Escape') select(deselectAll(selection));
    else if (event.key === 'Enter' && entry) acts.open(entry);
    else if (event.key === 'F2' && entry) acts.rename(entry);
    else if (event.key === 'Delete') acts.remove();
    else if (event.key === 'Backspace') acts.up();
    else return;
    event.preventDefault();
  };
}

interface HeadProps {
  column: Sort;
  search: FilesSearch;
  className?: string | undefined;
  children: ReactNode;
}

function Head({ column, search, className, children }: HeadProps) {
  const now = (search.sort ?? 'name') === column;
  const way = search.desc ? 'descending' : 'ascending';
  return (
    <div role="columnheader" className={className} aria-sort={now ? way : 'none'}>
      <Link
        to="/files"
        search={sortBy(search, column)}
        className={classes.sort}
        data-now={now}
        activeOptions={EXACT}
        replace
        preload={false}
      >
        {children}
        {now && <span aria-hidden="true">{search.desc ? ' ↓' : ' ↑'}</span>}
      </Link>
    </div>
  );
}

interface RowProps extends Props {
  entry: Entry;
  row: number;
}

function Row({ entry, row, root, search, entries, selection, select, acts }: RowProps) {
  const name = escapeInvisible(entry.name);
  const chosen = selection.paths.has(entry.path);
  const click = (event: MouseEvent): void => {
    if (event.shiftKey) select(extend(selection, entries, row));
    else if (event.ctrlKey || event.metaKey) select(toggle(selection, entries, row));
    else select(moveTo(selection, entries, row));
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid listens to the keys
    <div
      role="row"
      id={rowId(row)}
      className={classes.row}
      aria-rowindex={row + 2}
      aria-selected={chosen}
      data-active={selection.active === row}
      onClick={click}
    >
      <div role="gridcell" className={classes.check}>
        <input
          type="checkbox"
          aria-label={t`Select ${name}`}
          tabIndex={-1}
          checked={chosen}
          onClick={(event) => event.stopPropagation()}
          onChange={() => select(toggle(selection, entries, row))}
        />
      </div>
      <div role="gridcell" className={classes.entry}>
        <FileIcon entry={entry} />
        {isFolder(entry) ? (
          <Link
            to="/files"
            search={goTo(search, root, entry.path)}
            className={classes.name}
            title={name}
            tabIndex={-1}
            preload={false}
          >
            {name}
          </Link>
        ) : (
          <UnstyledButton
            className={classes.name}
            title={name}
            tabIndex={-1}
            onClick={() => acts.open(entry)}
          >
            {name}
          </UnstyledButton>
        )}
        {entry.is_link && (
          <span className={classes.badge}>
            <Trans context="a file">link</Trans>
          </span>
        )}
        {!entry.readable && (
          <span className={classes.badge}>
            <Trans context="a file">locked</Trans>
          </span>
        )}
      </div>
      <div role="gridcell" className={classes.size}>
        {entry.size_bytes === null || isFolder(entry) ? '–' : sizeText(entry.size_bytes)}
      </div>
      <div role="gridcell" className={classes.when}>
        <Time at={entry.modified_at} relative />
      </div>
    </div>
  );
}
