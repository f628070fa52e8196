import { t } from '@lingui/core/macro';
import { type ReactNode, useState } from 'react';
import { countText } from '@/lib/countText';
import { type ColumnSort, type Column as DataColumn, DataTable } from '@/ui/DataTable';
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
import type { Grouping } from './search';
import { rowsBy, type Step } from './span';
import classes from './Usage.module.css';

const NAMES: Record<Exclude<Grouping, 'period'> | Step, string> = {
  user: t`User`,
  group: t`Group`,
  account: t`Slurm account`,
  month: t`Month`,
  day: t`Day`,
};

interface Props {
  by: Grouping;
  /** whether rows by time are days or months */
  step: Step;
  rows: readonly Row[];
  /** renders a row's name: a link, or a formatted date */
  name: (row: Row) => ReactNode;
  /** without a frame, inside a card */
  plain?: boolean;
}

/** A table of usage with a bar relative to the largest; sortable by every column. */
export function UsageTable({ by, step, rows, name, plain = false }: Props) {
  const [sorting, setSorting] = useState<Sorting>(initialSorting(by));
  const sortedRows = sortRows(rows, sorting);
  const bars = barLengths(sortedRows);
  const direction = sorting.descending ? 'descending' : 'ascending';
  const sort = (column: Column): ColumnSort => ({
    direction: sorting.column === column ? direction : undefined,
    onSort: () => setSorting(nextSorting(sorting, column)),
  });
  const number = (
    id: Exclude<Column, 'name'>,
    header: string,
    text: (value: number) => string,
  ): DataColumn<Row> => ({
    id,
    header,
    cell: (row) => text(row[id]),
    number: true,
    sort: sort(id),
    width: '8rem',
  });
  return (
    <DataTable
      label={t`Usage`}
      columns={[
        {
          id: 'name',
          header: NAMES[rowsBy(by, step)],
          rowHeader: true,
          sort: sort('name'),
          className: classes.name,
          cell: (row, index) => (
            <>
              {name(row)}
              <div className={classes.bar}>
                <UsedBar used={bars[index] ?? 0} total={1} level="fine" />
              </div>
            </>
          ),
        },
        number('gpu_hours', t`GPU-hours`, hoursText),
        number('cpu_hours', t`CPU-hours`, hoursText),
        number('jobs', t`Jobs`, countText),
      ]}
      rows={sortedRows}
      rowKey={(row) => row.name}
      narrow="tight"
      plain={plain}
    />
  );
}
