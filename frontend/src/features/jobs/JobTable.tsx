import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { VisuallyHidden } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Job, Task } from '@/api/types';
import { useWindowed } from '@/features/files/useWindowed';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { isActive } from '@/live/reducer';
import { ScrollBox } from '@/ui/ScrollBox';
import { CancelDialog } from './CancelDialog';
import { type Column, directionOf, isSortable, NAME_REM, orderAfterClick } from './columns';
import { GroupRow, JobRow, type RowActs, TaskRow } from './JobRow';
import classes from './JobTable.module.css';
import { jobQuery } from './queries';
import { RowMenu, type RowPopup } from './RowMenu';
import { RowReason } from './RowReason';
import type { JobsSearch } from './search';
import { isChosen, type Selection } from './selection';
import {
  type Folds,
  groupOf,
  jobsOf,
  NO_FOLDS,
  type TableRow,
  tableRows,
  toggledFold,
} from './tableRows';
import type { Jobs } from './useJobs';
import { ROW_REM, useTableKeys } from './useTableKeys';

/** The width of the columns of the checkbox and the menu. */
const EDGE_REM = 2.5;
/** The next page is fetched when only this many rows remain below the visible ones. */
const AHEAD = 30;

interface Props {
  search: JobsSearch;
  jobs: Jobs;
  columns: readonly Column[];
  selection: Selection;
  /** toggles a job; with `isRange`, selects the jobs from the last one to it. `inOrder`: as shown */
  onChoose: (id: string, isRange: boolean, inOrder: readonly Job[]) => void;
  /** selects the jobs from one to another */
  onExtend: (from: string, to: string, inOrder: readonly Job[]) => void;
}

/** The jobs as a table, of which only the rows in sight are rendered. */
export function JobTable({ search, jobs, columns, selection, onChoose, onExtend }: Props) {
  const { titles, removeRows } = jobs;
  const [folds, setFolds] = useState(NO_FOLDS);
  const [popup, setPopup] = useState<RowPopup | null>(null);
  const [cancelling, setCancelling] = useState<Job | null>(null);
  const tasks = useTasks(jobs.rows, folds.arrays);
  const rows = useMemo(
    () => tableRows(jobs.rows, search.group, folds, tasks),
    [jobs.rows, search.group, folds, tasks],
  );
  const box = useRef<HTMLElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const { from, to } = useWindowed(body, rows.length, ROW_REM, box);
  useOlderJobs(jobs, search, to >= rows.length - AHEAD);

  const latest = useRef(rows);
  latest.current = rows;
  const choose = useCallback(
    (id: string, isRange: boolean) => onChoose(id, isRange, jobsOf(latest.current)),
    [onChoose],
  );
  const fold = useCallback(
    (kind: keyof Folds, key: string) => setFolds((before) => toggledFold(before, kind, key)),
    [],
  );
  const open = useOpen(fold);
  const { active, setActive, onKeyDown } = useTableKeys({
    rows,
    box,
    body,
    select: (row, isRange) => row.kind === 'job' && choose(row.job.id, isRange),
    extend: (first, last) => {
      if (first.kind === 'job' && last.kind === 'job')
        onExtend(first.job.id, last.job.id, jobsOf(rows));
    },
    open,
  });
  const acts = useMemo<RowActs>(
    () => ({ choose, fold, show: setPopup, activate: setActive }),
    [choose, fold, setActive],
  );
  const visible = rows.slice(from, to);
  const stopKey = visible.some(({ key }) => key === active) ? active : visible[0]?.key;
  const width = columns.reduce((sum, { rem }) => sum + rem, NAME_REM + 2 * EDGE_REM);
  const groupLabel = (job: Job): string => {
    const group = search.group ? groupOf(job, search.group) : '';
    if (search.group === 'name') return escapeInvisible(group);
    return group === '' ? t`No template` : (titles.get(group) ?? escapeInvisible(group));
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys move from row to row */}
      <div onKeyDown={onKeyDown}>
        <ScrollBox ref={box} label={t`Table of jobs`} height="78vh">
          <table
            className={classes.table}
            style={{ minWidth: `${width}rem` }}
            aria-label={t`Jobs`}
            aria-rowcount={jobs.hasMore ? -1 : rows.length + 1}
          >
            <colgroup>
              <col style={{ width: `${EDGE_REM}rem` }} />
              <col />
              {columns.map(({ id, rem, grows }) => (
                <col key={id} style={grows ? undefined : { width: `${rem}rem` }} />
              ))}
              <col style={{ width: `${EDGE_REM}rem` }} />
            </colgroup>
            <HeaderRow columns={columns} search={search} />
            <tbody ref={body}>
              <Gap rows={from} columns={columns.length + 3} />
              {visible.map((row, index) => {
                const common = {
                  columns,
                  number: from + index + 2,
                  isActive: row.key === active,
                  isTabStop: row.key === stopKey,
                  acts,
                };
                switch (row.kind) {
                  case 'group':
                    return (
                      <GroupRow
                        key={row.key}
                        row={row}
                        label={row.jobs[0] ? groupLabel(row.jobs[0]) : row.group}
                        isPart={jobs.hasMore}
                        {...common}
                      />
                    );
                  case 'task':
                    return (
                      <TaskRow
                        key={row.key}
                        rowKey={row.key}
                        job={row.job}
                        task={row.task}
                        {...common}
                      />
                    );
                  case 'loading':
                    return (
                      <tr key={row.key} className={classes.row} data-task>
                        <td />
                        <td colSpan={columns.length + 2}>
                          <Trans>Loading…</Trans>
                        </td>
                      </tr>
                    );
                  default:
                    return (
                      <JobRow
                        key={row.key}
                        job={row.job}
                        title={row.job.template === null ? undefined : titles.get(row.job.template)}
                        isChosen={isChosen(selection, row.job.id)}
                        isOpen={folds.arrays.has(row.job.id)}
                        {...common}
                      />
                    );
                }
              })}
              <Gap rows={rows.length - to} columns={columns.length + 3} />
            </tbody>
          </table>
        </ScrollBox>
      </div>
      {popup?.kind === 'menu' && (
        <RowMenu
          {...popup}
          onClose={() => setPopup(null)}
          onCancel={setCancelling}
          onRemoved={removeRows}
        />
      )}
      {popup?.kind === 'reason' && <RowReason {...popup} onClose={() => setPopup(null)} />}
      {cancelling && <CancelDialog job={cancelling} opened onClose={() => setCancelling(null)} />}
    </>
  );
}

/** Keeps the space of rows that are out of sight. */
function Gap({ rows, columns }: { rows: number; columns: number }) {
  if (rows === 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={columns} style={{ height: `${rows * ROW_REM}rem`, padding: 0 }} />
    </tr>
  );
}

function useOpen(fold: RowActs['fold']): (row: TableRow) => void {
  const navigate = useNavigate();
  return (row) => {
    if (row.kind === 'group') fold('groups', row.group);
    else if (row.kind === 'job') void navigate({ to: '/jobs/$id', params: { id: row.job.id } });
    else if (row.kind === 'task')
      void navigate({
        to: '/jobs/$id/log',
        params: { id: row.job.id },
        search: { task: row.task.index },
      });
  };
}

/** Fetch older jobs before the last row comes into sight. Not in groups, which only the button below
 * the table extends: the jobs may belong to folded groups, so that all of them would be fetched. */
function useOlderJobs(
  { hasMore, isFetchingMore, error, fetchMore }: Jobs,
  search: JobsSearch,
  isNear: boolean,
) {
  const shouldFetch =
    isNear && hasMore && !isFetchingMore && error === null && search.group === undefined;
  useEffect(() => {
    if (shouldFetch) fetchMore();
  }, [shouldFetch, fetchMore]);
}

/** The interval at which the tasks of an unfolded array are fetched while it is active. */
const TASKS_MS = 15_000;

/** The tasks of unfolded arrays, by job id; those not known yet are missing. */
function useTasks(
  jobs: readonly Job[],
  unfolded: ReadonlySet<string>,
): ReadonlyMap<string, readonly Task[]> {
  const arrays = jobs.filter(({ id }) => unfolded.has(id));
  return useQueries({
    queries: arrays.map((job) => ({
      ...jobQuery(job.id),
      refetchInterval: isActive(job) ? TASKS_MS : (false as const),
    })),
    combine: toTasks,
  });
}

function toTasks(
  answers: readonly { data?: { id: string; array: { tasks: Task[] } | null } | undefined }[],
): ReadonlyMap<string, readonly Task[]> {
  return new Map(
    answers.flatMap(({ data }) => (data?.array ? [[data.id, data.array.tasks] as const] : [])),
  );
}

interface HeaderRowProps {
  columns: readonly Column[];
  search: JobsSearch;
}

function HeaderRow({ columns, search }: HeaderRowProps) {
  return (
    <thead>
      <tr className={classes.heads} aria-rowindex={1}>
        <td className={classes.check}>
          <VisuallyHidden>{t`Selected`}</VisuallyHidden>
        </td>
        <ColumnHeader id="name" label={t`Name`} search={search} className={classes.name} />
        {columns.map(({ id, label, isNumber, hint }) => (
          <ColumnHeader
            key={id}
            id={id}
            label={label}
            hint={hint}
            search={search}
            className={isNumber && classes.number}
          />
        ))}
        <td className={classes.menu}>
          <VisuallyHidden>{t`Actions`}</VisuallyHidden>
        </td>
      </tr>
    </thead>
  );
}

interface ColumnHeaderProps {
  id: string;
  label: string;
  hint?: string | undefined;
  search: JobsSearch;
  className: string | undefined;
}

function ColumnHeader({ id, label, hint, search, className }: ColumnHeaderProps) {
  if (!isSortable(id))
    return (
      <th scope="col" className={className} title={hint ?? label}>
        {label}
      </th>
    );
  const direction = directionOf(id, search);
  const { order: _order, by: _by, ...rest } = search;
  return (
    <th scope="col" className={className} aria-sort={direction ?? 'none'}>
      <Link
        to="/jobs"
        search={{ ...rest, ...orderAfterClick(id, search) }}
        className={classes.sort}
        title={t`Sort by ${{ column: label }}`}
        activeOptions={{ exact: true, includeSearch: true }}
        replace
        preload={false}
      >
        {label}
        {direction && <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : ' ↓'}</span>}
      </Link>
    </th>
  );
}
