import { t } from '@lingui/core/macro';
import { Paper, Table, UnstyledButton, VisuallyHidden } from '@mantine/core';
import type { Key, ReactNode } from 'react';
import classes from './DataTable.module.css';
import { Icon } from './icons';
import { ScrollBox } from './ScrollBox';

/** The order by one column, and its change by a press on the header. */
export interface ColumnSort {
  /** undefined if the rows are in another column's order */
  direction: 'ascending' | 'descending' | undefined;
  onSort: () => void;
  title?: string;
}

export interface Column<Row> {
  id: string;
  header: ReactNode;
  cell: (row: Row, index: number) => ReactNode;
  /** names its row; one column of a table does */
  rowHeader?: boolean;
  /** right-aligned */
  number?: boolean;
  sort?: ColumnSort;
  /** a CSS width */
  width?: string;
  className?: string | ((row: Row) => string | undefined);
  /** in blocks: beside the row header instead of below it */
  narrowBeside?: boolean;
  /** in blocks: the header, which must be a text, precedes the value */
  narrowLabeled?: boolean;
  /** in blocks: whether the cell is left out */
  isEmpty?: (row: Row) => boolean;
}

interface Props<Row> {
  /** the table's accessible name */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => Key;
  /** a row's buttons, in a last column */
  actions?: ((row: Row) => ReactNode) | undefined;
  /** shown without rows: why, and what to do */
  empty?: ReactNode;
  /** whether newer rows are being fetched */
  busy?: boolean;
  /** where the table is narrow, each row is a block, the table scrolls, or its columns are tight */
  narrow?: 'blocks' | 'scroll' | 'tight';
  /** the maximum height of a table that scrolls */
  height?: `${number}vh`;
  /** without a frame, inside a card */
  plain?: boolean;
}

/** A table of records: one row each. */
export function DataTable<Row>({ rows, empty, plain = false, ...props }: Props<Row>) {
  const { label, columns, rowKey, actions, busy = false, narrow = 'blocks', height } = props;
  if (rows.length === 0 && empty !== undefined)
    return plain ? empty : <Paper className={classes.empty}>{empty}</Paper>;
  const table = (
    <Table
      className={classes.table}
      data-narrow={narrow}
      verticalSpacing={8}
      horizontalSpacing={plain ? 'xs' : 'md'}
      aria-label={label}
    >
      <Table.Thead>
        <Table.Tr>
          {columns.map((column) => (
            <Header key={column.id} column={column} />
          ))}
          {actions && (
            <Table.Th scope="col">
              <VisuallyHidden>{t`Actions`}</VisuallyHidden>
            </Table.Th>
          )}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row, index) => (
          <Table.Tr key={rowKey(row)} className={classes.row}>
            {columns.map((column) => (
              <Cell key={column.id} column={column} row={row} index={index} />
            ))}
            {actions && (
              <Table.Td className={classes.actions} data-place="beside">
                {actions(row)}
              </Table.Td>
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
  if (narrow === 'scroll')
    return (
      <ScrollBox label={label} height={height}>
        {table}
      </ScrollBox>
    );
  const frame = { className: classes.frame, 'aria-busy': busy };
  return plain ? (
    <div {...frame} data-plain>
      {table}
    </div>
  ) : (
    <Paper {...frame}>{table}</Paper>
  );
}

function Header<Row>({ column }: { column: Column<Row> }) {
  const { header, number, sort, width } = column;
  return (
    <Table.Th
      scope="col"
      className={number ? classes.number : undefined}
      __vars={{ '--column-width': width }}
      aria-sort={sort && (sort.direction ?? 'none')}
    >
      {sort ? (
        <UnstyledButton
          className={classes.sort}
          data-direction={sort.direction}
          title={sort.title}
          onClick={sort.onSort}
        >
          {header}
          <Icon name="down" size={14} />
        </UnstyledButton>
      ) : (
        header
      )}
    </Table.Th>
  );
}

interface CellProps<Row> {
  column: Column<Row>;
  row: Row;
  index: number;
}

function Cell<Row>({ column, row, index }: CellProps<Row>) {
  const { header, cell, rowHeader, number, className, narrowBeside, narrowLabeled, isEmpty } =
    column;
  const own = typeof className === 'function' ? className(row) : className;
  const names = [number && classes.number, own].filter(Boolean).join(' ');
  const props = {
    className: names || undefined,
    'data-place': narrowBeside ? 'beside' : undefined,
    'data-label': narrowLabeled ? header : undefined,
    'data-empty': isEmpty?.(row) || undefined,
    children: cell(row, index),
  };
  return rowHeader ? <Table.Th scope="row" {...props} /> : <Table.Td {...props} />;
}

/** A second line of a cell. */
export function CellNote({ children, code = false }: { children: ReactNode; code?: boolean }) {
  return (
    <div className={classes.note} data-code={code || undefined}>
      {children}
    </div>
  );
}

/** The class of a link in a row header that the whole row leads to; the link alone is read out. */
export const rowLink = classes.link;

/** The class of controls and selectable text above such a link. */
export const aboveRowLink = classes.above;
