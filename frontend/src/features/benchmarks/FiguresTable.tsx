import { t } from '@lingui/core/macro';
import { Checkbox, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { markBorder } from '@/ui/plot/marks';
import { ScrollBox } from '@/ui/ScrollBox';
import classes from './Benchmarks.module.css';
import { type Column, distinguishingNames, figureText, type Line, labelText } from './figures';

interface Props {
  lines: readonly Line[];
  columns: readonly Column[];
  /** by column, its mark in the charts; null: not drawn */
  marks: (number | null)[];
  better: 'higher' | 'lower';
  title: string;
  onToggle: (key: string) => void;
}

/** A table of all figures: measures in rows, runs or hardware in columns. */
export function FiguresTable({ lines, columns, marks, better, title, onToggle }: Props) {
  const names = distinguishingNames(lines);
  return (
    <ScrollBox label={title} height="80vh">
      <table className={classes.table}>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col" className={classes.label}>
                {name}
              </th>
            ))}
            {columns.map((column, index) => (
              <th key={column.key} scope="col">
                <Head column={column} mark={marks[index] ?? null} onToggle={onToggle} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <FigureRow key={line.key} line={line} names={names} columns={columns} better={better} />
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

function Head(props: { column: Column; mark: number | null; onToggle: (key: string) => void }) {
  const { column, mark, onToggle } = props;
  return (
    <div className={classes.head}>
      <span className={classes.line} style={mark === null ? {} : markBorder(mark)} />
      <Checkbox
        size="xs"
        label={t`Draw`}
        aria-label={t`Draw ${{ column: column.name }}, ${{ detail: column.detail }}`}
        checked={mark !== null}
        onChange={() => onToggle(column.key)}
      />
      {column.kind === 'run' ? (
        <Link to="/jobs/$id" params={{ id: column.key }}>
          {column.name}
        </Link>
      ) : (
        <span>{column.name}</span>
      )}
      <span className={classes.detail}>{column.detail}</span>
    </div>
  );
}

interface RowProps extends Pick<Props, 'columns' | 'better'> {
  line: Line;
  names: string[];
}

function FigureRow({ line, names, columns, better }: RowProps) {
  const values = columns.map(({ values }) => values.get(line.key));
  const measured = values.filter((value) => value !== undefined);
  const best = better === 'higher' ? Math.max(...measured) : Math.min(...measured);
  return (
    <tr>
      {names.map((name) => (
        <th key={name} scope="row" className={classes.label}>
          {labelText(line.labels[name])}
        </th>
      ))}
      {columns.map((column, index) => {
        const value = values[index];
        const first = measured.length > 1 && value === best;
        return (
          <td key={column.key} data-best={first}>
            {value === undefined ? '–' : figureText(value)}
            {first && <VisuallyHidden component="span"> {t`best`}</VisuallyHidden>}
          </td>
        );
      })}
    </tr>
  );
}
