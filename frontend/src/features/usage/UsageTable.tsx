import { t } from '@lingui/core/macro';
import { Paper, Table, UnstyledButton } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { locale } from '@/i18n';
import { Icon } from '@/ui/icons';
import {
  type Column,
  firstSorting,
  hours,
  pressed,
  type Row,
  type Sorting,
  shares,
  sorted,
} from './rows';
import type { By } from './search';
import classes from './Usage.module.css';

const NAMES: Record<By, string> = { user: t`User`, group: t`Group`, month: t`Month` };

interface Props {
  by: By;
  rows: readonly Row[];
  /** how a row's name is shown: a link, a month in words */
  name: (row: Row) => ReactNode;
}

/** What each has used, with a bar against who used most; sorted by any column. */
export function UsageTable({ by, rows, name }: Props) {
  const [sorting, setSorting] = useState<Sorting>(firstSorting(by));
  const shown = sorted(rows, sorting);
  const bars = shares(shown);
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
            {head('name', NAMES[by])}
            {head('gpu_hours', t`GPU-hours`)}
            {head('cpu_hours', t`CPU-hours`)}
            {head('jobs', t`Jobs`)}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shown.map((row, index) => (
            <Table.Tr key={row.name}>
              <Table.Td className={classes.name}>
                {name(row)}
                <div className={classes.track} aria-hidden="true">
                  <div style={{ width: `${100 * (bars[index] ?? 0)}%` }} />
                </div>
              </Table.Td>
              <Table.Td className={classes.number}>{hours(row.gpu_hours)}</Table.Td>
              <Table.Td className={classes.number}>{hours(row.cpu_hours)}</Table.Td>
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
        onClick={() => onPress(pressed(sorting, column))}
      >
        {children}
        <Icon name="down" size={14} />
      </UnstyledButton>
    </Table.Th>
  );
}
