import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Table, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { JobArray, JobDetail, Task } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { translate } from '@/i18n/translate';
import { metricText } from '@/ui/metricText';
import { ScrollBox } from '@/ui/ScrollBox';
import { StateChip } from '@/ui/StateChip';
import classes from './JobPage.module.css';
import { arrayText, jobStateLabel, taskColumns, valueText } from './labels';
import { nextOrder, type Order, sortTasks } from './order';

/** An array's tasks: the parameters of each beside its metrics so far. */
export function TaskTable({ job, array }: { job: JobDetail; array: JobArray }) {
  const columns = taskColumns(array.tasks);
  const [order, setOrder] = useState<Order | null>(null);
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
      <ScrollBox label={t`Table of tasks`} height="70vh">
        <Table verticalSpacing={6} className={classes.table}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t`Task`}</Table.Th>
              <Table.Th>{t`State`}</Table.Th>
              {columns.parameters.map((name) => (
                <Table.Th key={name}>{name}</Table.Th>
              ))}
              {columns.metrics.map((name) => (
                <MetricHead
                  key={name}
                  name={name}
                  order={order}
                  onTurn={() => setOrder(nextOrder(order, name))}
                />
              ))}
              <Table.Th>{t`Node`}</Table.Th>
              <Table.Th>
                <Term word="Exit code">{t`Exit code`}</Term>
              </Table.Th>
              <Table.Th>{t`Log`}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sortTasks(array.tasks, order).map((task) => (
              <TaskRow key={task.index} id={job.id} task={task} columns={columns} />
            ))}
          </Table.Tbody>
        </Table>
      </ScrollBox>
    </section>
  );
}

const ARROWS = { ascending: ' ↑', descending: ' ↓' } as const;

function MetricHead(props: { name: string; order: Order | null; onTurn: () => void }) {
  const { name, order, onTurn } = props;
  const direction = order?.metric === name ? order.direction : undefined;
  return (
    <Table.Th className={classes.metric} aria-sort={direction ?? 'none'}>
      <button type="button" className={classes.sorter} onClick={onTurn} title={t`Sort by ${name}`}>
        {name}
        {direction && <span aria-hidden="true">{ARROWS[direction]}</span>}
      </button>
    </Table.Th>
  );
}

interface RowProps {
  id: string;
  task: Task;
  columns: ReturnType<typeof taskColumns>;
}

function TaskRow({ id, task, columns }: RowProps) {
  const { state, outcome = null, index: number } = task;
  const value = task.so_far ? `${classes.metric} ${classes.soFar}` : classes.metric;
  return (
    <Table.Tr>
      <Table.Th scope="row">{task.index}</Table.Th>
      <Table.Td>
        <StateChip {...jobStateLabel({ state, outcome })} />
        {task.reason && (
          <p className={classes.taskReason}>
            {translate(task.reason)} {translate(task.suggestion)}
          </p>
        )}
      </Table.Td>
      {columns.parameters.map((name) => (
        <Table.Td key={name}>{valueText(task.parameters?.[name])}</Table.Td>
      ))}
      {columns.metrics.map((name) => (
        <Table.Td key={name} className={value}>
          {metricText(task.metrics?.[name])}
          {task.so_far && <VisuallyHidden component="span"> {t`so far`}</VisuallyHidden>}
        </Table.Td>
      ))}
      <Table.Td>{task.node ?? '–'}</Table.Td>
      <Table.Td>{task.exit_code ?? '–'}</Table.Td>
      <Table.Td>
        {['running', 'suspended', 'stopping', 'ended'].includes(state) ? (
          <Link to="/jobs/$id/log" params={{ id }} search={{ task: task.index }}>
            <Trans>
              Log<VisuallyHidden component="span"> of task {number}</VisuallyHidden>
            </Trans>
          </Link>
        ) : (
          '–'
        )}
      </Table.Td>
    </Table.Tr>
  );
}
