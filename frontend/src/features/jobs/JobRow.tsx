import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type MouseEvent, memo, type ReactNode } from 'react';
import type { Job, Task } from '@/api/types';
import { translate } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { Icon } from '@/ui/icons';
import { metricText } from '@/ui/metricText';
import { StateChip } from '@/ui/StateChip';
import { cellContent } from './cells';
import type { Column } from './columns';
import { metricOf, parameterOf } from './columnValues';
import classes from './JobTable.module.css';
import { arrayText, hasErrorLine, jobStateLabel, parameterText } from './labels';
import type { RowPopup } from './RowMenu';
import type { Folds, TableRow } from './tableRows';

/** The effects of a row's controls. The object stays the same, so that unchanged rows are not rendered
 * again. */
export interface RowActs {
  /** selects or deselects a job; with `isRange`, selects the jobs from the last one to it */
  choose: (id: string, isRange: boolean) => void;
  show: (popup: RowPopup) => void;
  /** folds or unfolds a group or an array */
  fold: (kind: keyof Folds, key: string) => void;
  /** makes the row with this key the active one */
  activate: (key: string) => void;
}

interface Props {
  columns: readonly Column[];
  /** its number among all rows; that of the header row is 1 */
  number: number;
  /** whether it was moved to or focused last */
  isActive: boolean;
  /** whether the tab key stops here */
  isTabStop: boolean;
  acts: RowActs;
}

const tabIndexOf = (isTabStop: boolean) => (isTabStop ? 0 : -1);

/** The properties common to all rows. */
function rowProps(key: string, { number, isActive, acts }: Props) {
  return {
    className: classes.row,
    'data-key': key,
    'data-active': isActive,
    'aria-rowindex': number,
    onFocus: () => acts.activate(key),
  };
}

interface JobProps extends Props {
  job: Job;
  title: string | undefined;
  isChosen: boolean;
  /** whether its array is unfolded into tasks */
  isOpen: boolean;
}

/** One job of the table. */
export const JobRow = memo(function JobRow(props: JobProps) {
  const { job, title, columns, isChosen, isOpen, isTabStop, acts } = props;
  const name = escapeInvisible(job.name);
  const onContextMenu = (event: MouseEvent): void => {
    // With Shift held or text selected, leave the browser's own menu.
    if (event.shiftKey || window.getSelection()?.isCollapsed === false) return;
    event.preventDefault();
    acts.show({ kind: 'menu', job, x: event.clientX, y: event.clientY });
  };
  const showBelow = (kind: RowPopup['kind']) => (event: MouseEvent) => {
    const { left, bottom } = event.currentTarget.getBoundingClientRect();
    acts.show({ kind, job, x: left, y: bottom });
  };
  return (
    <tr {...rowProps(job.id, props)} data-chosen={isChosen} onContextMenu={onContextMenu}>
      <td className={classes.check}>
        <input
          type="checkbox"
          aria-label={t`Select ${name}`}
          tabIndex={tabIndexOf(isTabStop)}
          checked={isChosen}
          onChange={(event) =>
            acts.choose(job.id, (event.nativeEvent as globalThis.MouseEvent).shiftKey)
          }
        />
      </td>
      <th scope="row" className={classes.name}>
        <span className={classes.nameLine}>
          <Link
            to="/jobs/$id"
            params={{ id: job.id }}
            title={name}
            tabIndex={tabIndexOf(isTabStop)}
            preload={false}
            // data-main: the element that useTableKeys focuses
            data-main
          >
            {name}
          </Link>
          {job.array && (
            <UnstyledButton
              className={classes.unfold}
              aria-expanded={isOpen}
              title={arrayText(job.array)}
              tabIndex={tabIndexOf(isTabStop)}
              onClick={() => acts.fold('arrays', job.id)}
            >
              <Icon name={isOpen ? 'down' : 'right'} size={14} />
              {plural(job.array.size, { one: '# task', other: '# tasks' })}
            </UnstyledButton>
          )}
        </span>
      </th>
      {columns.map((column) => {
        const { shown, title: fullText } = cellContent(column.id, job, title);
        return (
          <td key={column.id} className={column.isNumber && classes.number} title={fullText}>
            {column.id === 'reason' && fullText !== undefined ? (
              <Reason
                isError={hasErrorLine(job)}
                tabIndex={tabIndexOf(isTabStop)}
                onShow={showBelow('reason')}
              >
                {shown}
              </Reason>
            ) : (
              shown
            )}
          </td>
        );
      })}
      <td className={classes.menu}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={t`Actions of ${name}`}
          aria-haspopup="menu"
          tabIndex={tabIndexOf(isTabStop)}
          onClick={showBelow('menu')}
        >
          <Icon name="more" />
        </ActionIcon>
      </td>
    </tr>
  );
});

interface ReasonProps {
  isError: boolean;
  tabIndex: number;
  onShow: (event: MouseEvent) => void;
  children: ReactNode;
}

/** The reason in one line, and all of it while its button has the keyboard focus. The button, which is
 * the text itself or an icon beside an error, opens the popup with the details. */
function Reason({ isError, tabIndex, onShow, children }: ReasonProps) {
  const opens = { 'aria-haspopup': 'dialog', tabIndex, onClick: onShow } as const;
  if (!isError)
    return (
      <span className={classes.reason}>
        <UnstyledButton className={classes.reasonText} {...opens}>
          {children}
        </UnstyledButton>
      </span>
    );
  return (
    <span className={classes.reason}>
      <ActionIcon
        className={classes.why}
        variant="subtle"
        size="sm"
        c="var(--bad)"
        aria-label={t`Show the error`}
        {...opens}
      >
        <Icon name="alert" size={16} />
      </ActionIcon>
      <span className={classes.reasonText}>{children}</span>
    </span>
  );
}

interface GroupProps extends Props {
  row: Extract<TableRow, { kind: 'group' }>;
  label: string;
  /** whether there may be more jobs of the group that are not loaded */
  isPart: boolean;
}

/** The header of a group, with a button that folds or unfolds its jobs. */
export function GroupRow(props: GroupProps) {
  const { row, label, columns, isPart, isTabStop, acts } = props;
  const count = row.jobs.length;
  return (
    <tr {...rowProps(row.key, props)} data-group>
      <th scope="rowgroup" colSpan={columns.length + 3}>
        <UnstyledButton
          className={classes.group}
          aria-expanded={!row.isFolded}
          tabIndex={tabIndexOf(isTabStop)}
          onClick={() => acts.fold('groups', row.group)}
          data-main
        >
          <Icon name={row.isFolded ? 'right' : 'down'} size={16} />
          <span className={classes.groupName} title={label}>
            {label}
          </span>
          <span className={classes.groupCount}>
            {isPart
              ? plural(count, { one: '# job so far', other: '# jobs so far' })
              : plural(count, { one: '# job', other: '# jobs' })}
          </span>
        </UnstyledButton>
      </th>
    </tr>
  );
}

interface TaskProps extends Props {
  rowKey: string;
  job: Job;
  task: Task;
}

/** One task of an unfolded array. */
export const TaskRow = memo(function TaskRow(props: TaskProps) {
  const { rowKey, job, task, columns, isTabStop } = props;
  const { index } = task;
  const hasLog = !['submitting', 'queued'].includes(task.state);
  return (
    <tr {...rowProps(rowKey, props)} data-task>
      <td />
      <th scope="row" className={classes.name}>
        <span className={classes.nameLine}>
          {hasLog ? (
            <Link
              to="/jobs/$id/log"
              params={{ id: job.id }}
              search={{ task: index }}
              tabIndex={tabIndexOf(isTabStop)}
              preload={false}
              data-main
            >
              <Trans>
                Task {index}
                <VisuallyHidden component="span">: log</VisuallyHidden>
              </Trans>
            </Link>
          ) : (
            <span tabIndex={tabIndexOf(isTabStop)} data-main>{t`Task ${index}`}</span>
          )}
        </span>
      </th>
      {columns.map(({ id, isNumber }) => (
        <td key={id} className={isNumber && classes.number} title={taskText(id, task) ?? undefined}>
          {id === 'state' ? (
            <StateChip {...jobStateLabel({ state: task.state, outcome: task.outcome ?? null })} />
          ) : (
            taskText(id, task)
          )}
        </td>
      ))}
      <td />
    </tr>
  );
});

/** Return a task's own value of a column; null if it has none, or only its array's row shows it. */
function taskText(id: string, task: Task): string | null {
  const parameter = parameterOf(id);
  if (parameter !== null) {
    const own = task.parameters ?? {};
    return Object.hasOwn(own, parameter) ? escapeInvisible(parameterText(own[parameter])) : null;
  }
  const metric = metricOf(id);
  if (metric !== null) {
    const values = task.metrics ?? {};
    return Object.hasOwn(values, metric) ? metricText(values[metric]) : null;
  }
  if (id === 'node') return task.node ?? null;
  if (id === 'exit') return task.exit_code == null ? null : String(task.exit_code);
  return id === 'reason' && task.reason ? escapeInvisible(translate(task.reason)) : null;
}
