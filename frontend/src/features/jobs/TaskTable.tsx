import { Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { JobArray, JobDetail, Task } from '@/api/types';
import { StateChip } from '@/ui/StateChip';
import classes from './JobPage.module.css';
import { arrayText, jobStateWords, metricText, taskColumns, valueText } from './words';

/** An array's tasks: what each was given, against what came out. */
export function TaskTable({ job, array }: { job: JobDetail; array: JobArray }) {
  const columns = taskColumns(array.tasks);
  return (
    <section aria-labelledby="tasks">
      <h2 id="tasks" className={classes.heading}>
        Tasks
      </h2>
      <p className={classes.note}>{arrayText(array)}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it */}
      <section className={classes.scroll} tabIndex={0} aria-label="Table of tasks">
        <Table verticalSpacing={6} className={classes.table}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Task</Table.Th>
              <Table.Th>State</Table.Th>
              {columns.parameters.map((name) => (
                <Table.Th key={name}>{name}</Table.Th>
              ))}
              {columns.metrics.map((name) => (
                <Table.Th key={name} className={classes.metric}>
                  {name}
                </Table.Th>
              ))}
              <Table.Th>Node</Table.Th>
              <Table.Th>Exit code</Table.Th>
              <Table.Th>Log</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {array.tasks.map((task) => (
              <TaskRow key={task.index} id={job.id} task={task} columns={columns} />
            ))}
          </Table.Tbody>
        </Table>
      </section>
    </section>
  );
}

interface RowProps {
  id: string;
  task: Task;
  columns: ReturnType<typeof taskColumns>;
}

function TaskRow({ id, task, columns }: RowProps) {
  const { state, outcome = null } = task;
  return (
    <Table.Tr>
      <Table.Th scope="row">{task.index}</Table.Th>
      <Table.Td>
        <StateChip {...jobStateWords({ state, outcome })} />
      </Table.Td>
      {columns.parameters.map((name) => (
        <Table.Td key={name}>{valueText(task.parameters?.[name])}</Table.Td>
      ))}
      {columns.metrics.map((name) => (
        <Table.Td key={name} className={classes.metric}>
          {metricText(task.metrics?.[name])}
        </Table.Td>
      ))}
      <Table.Td>{task.node ?? '–'}</Table.Td>
      <Table.Td>{task.exit_code ?? '–'}</Table.Td>
      <Table.Td>
        {['running', 'suspended', 'stopping', 'ended'].includes(state) ? (
          <Link to="/jobs/$id/log" params={{ id }} search={{ task: task.index }}>
            Log<span className={classes.hidden}> of task {task.index}</span>
          </Link>
        ) : (
          '–'
        )}
      </Table.Td>
    </Table.Tr>
  );
}
