import { t } from '@lingui/core/macro';
import { Paper, Table, UnstyledButton } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { locale } from '@/i18n';
import { Icon } from '@/ui/icons';
import { UsedBar } from '@/ui/UsedBar';
import {
  barLengths,
  type Column,
  hoursText,
  initialSorting,
  nextSorting,
  type Row,
  type Sorting,
  sortRows,
} from './rows';
import type { By } from './search';
import { rowsBy, type Step } from './span';
import classes from './Usage.module.css';

const NAMES: Record<Exclude<By, 'month'> | Step, string> = {
  user: t`User`,
  group: t`Group`,
  account: t`Account`,
  month: t`Month`,
  day: t`Day`,
};

interface Props {
  by: By;
  /** whether rows by time are days or months */
  step: Step;
  rows: readonly Row[];
  /** renders a row's name: a link, or a formatted date */
  name: (row: Row) => ReactNode;
}

/** A table of usage with a bar relative to the largest; sortable by every column. */
export function UsageTable({ by, step, rows, name }: Props) {
  const [sorting, setSorting] = useState<Sorting>(initialSorting(by));
  const sortedRows = sortRows(rows, sorting);
  const bars = barLengths(sortedRows);
  const head = (column: Column, label: string) => (
    <Head column={column} sorting={sorting} onPress={setSorting}>
      {label}
    </Head>
  );
  return (
    <Paper className={classes.table}>
      <Table verticalSpacing={8} horizontalSpacing="md">
        <Table.Thead>
          <Table.Tr>
            {head('name', NAMES[rowsBy(by, step)])}
            {head('gpu_hours', t`GPU-hours`)}
            {head('cpu_hours', t`CPU-hours`)}
            {head('jobs', t`Jobs`)}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sortedRows.map((row, index) => (
            <Table.Tr key={row.name}>
              <Table.Td className={classes.name}>
                {name(row)}
                <div className={classes.bar}>
                  <UsedBar used={bars[index] ?? 0} total={1} level="fine" />
                </div>
              </Table.Td>
              <Table.Td className={classes.number}>{hoursText(row.gpu_hours)}</Table.Td>
              <Table.Td className={classes.number}>{hoursText(row.cpu_hours)}</Table.Td>
              <Table.Td className={classes.number}>{row.jobs.toLocaleString(locale())}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

interface HeadProps {
  column: Column;
  sorting: Sorting;
  onPress: (sorting: Sorting) => void;
  children: string;
}

function Head({ column, sorting, onPress, children }: HeadProps) {
  const active = sorting.column === column;
  const way = sorting.descending ? 'descending' : 'ascending';
  return (
    <Table.Th
      className={column === 'name' ? undefined : classes.number}
      aria-sort={active ? way : 'none'}
    >
      <UnstyledButton
        className={classes.sort}
        data-way={active ? way : undefined}
        onClick={() => onPress(nextSorting(sorting, column))}
      >
        {children}
        <Icon name="down" size={14} />
      </UnstyledButton>
    </Table.Th>
  );
}
