import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { JobArray, JobDetail, Task } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { translate } from '@/i18n/translate';
import { CellNote, type Column, DataTable } from '@/ui/DataTable';
import { metricText } from '@/ui/metricText';
import { StateChip } from '@/ui/StateChip';
import classes from './JobPage.module.css';
import { arrayText, jobStateLabel, parameterText, taskColumns } from './labels';
import { metricValue, nextOrder, sortTasks, type TaskOrder } from './order';

/** An array's tasks: the parameters of each beside its metrics so far. */
export function TaskTable({ job, array }: { job: JobDetail; array: JobArray }) {
  const [order, setOrder] = useState<TaskOrder | null>(null);
  const tasks = arrayText(array);
  const soFar = array.tasks.some((task) => task.so_far);
  return (
    <section aria-labelledby="tasks">
      <h2 id="tasks" className={classes.heading}>
        <Term word="Tasks">{t`Tasks`}</Term>
      </h2>
      <p className={classes.note}>
        {soFar ? t`${tasks}. Values in italics are what running tasks have logged so far.` : tasks}
      </p>
      <DataTable
        label={t`Table of tasks`}
        columns={columnsOf(job.id, array.tasks, order, setOrder)}
        rows={sortTasks(array.tasks, order)}
        rowKey={({ index }) => index}
        narrow="scroll"
        height="70vh"
      />
    </section>
  );
}

function columnsOf(
  id: string,
  tasks: readonly Task[],
  order: TaskOrder | null,
  onOrder: (order: TaskOrder | null) => void,
): Column<Task>[] {
  const { parameters, metrics } = taskColumns(tasks);
  return [
    { id: 'task', header: t`Task`, cell: ({ index }) => index, rowHeader: true },
    { id: 'state', header: t`State`, cell: (task) => <TaskState task={task} /> },
    ...parameters.map((name) => ({
      id: `parameter ${name}`,
      header: name,
      cell: (task: Task) => parameterText(task.parameters?.[name]),
    })),
    ...metrics.map((name) => ({
      id: `metric ${name}`,
      header: name,
      number: true,
      className: (task: Task) => (task.so_far ? classes.soFar : undefined),
      sort: {
        direction: order?.metric === name ? order.direction : undefined,
        onSort: () => onOrder(nextOrder(order, name)),
        title: t`Sort by ${name}`,
      },
      cell: (task: Task) => (
        <>
          {metricText(metricValue(task, name))}
          {task.so_far && <VisuallyHidden component="span"> {t`so far`}</VisuallyHidden>}
        </>
      ),
    })),
    { id: 'node', header: t`Node`, cell: ({ node }) => node ?? '–' },
    {
      id: 'exit',
      header: <Term word="Exit code">{t`Exit code`}</Term>,
      cell: ({ exit_code: code }) => code ?? '–',
    },
    { id: 'log', header: t`Log`, cell: (task) => <TaskLog id={id} task={task} /> },
  ];
}

function TaskState({ task }: { task: Task }) {
  const { state, outcome = null, reason, suggestion } = task;
  return (
    <>
      <StateChip {...jobStateLabel({ state, outcome })} />
      {reason && (
        <CellNote>
          {translate(reason)} {translate(suggestion)}
        </CellNote>
      )}
    </>
  );
}

const LOGGED: readonly Task['state'][] = ['running', 'suspended', 'stopping', 'ended'];

function TaskLog({ id, task: { state, index: number } }: { id: string; task: Task }) {
  if (!LOGGED.includes(state)) return '–';
  return (
    <Link to="/jobs/$id/log" params={{ id }} search={{ task: number }}>
      <Trans>
        Log<VisuallyHidden component="span"> of task {number}</VisuallyHidden>
      </Trans>
    </Link>
  );
}
