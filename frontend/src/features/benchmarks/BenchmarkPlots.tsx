import { Skeleton } from '@mantine/core';
import { Suspense, useMemo } from 'react';
import { joinWithCommas } from '@/i18n/lists';
import { lazyPart } from '@/ui/lazyPart';
import { markFill } from '@/ui/plot/marks';
import classes from './Benchmarks.module.css';
import {
  type Column,
  distinguishingNames,
  type Facet,
  figureText,
  type Line,
  namedText,
  toFacets,
} from './figures';

const LinePlot = lazyPart(async () => (await import('./LinePlot')).LinePlot);

interface Props {
  lines: readonly Line[];
  columns: readonly Column[];
  /** for each column, the index of its color and dash pattern (ui/plot/marks.ts) */
  marks: number[];
  unit: string;
}

/** Charts of the figures: lines by problem size if there are several sizes, else bars. */
export function BenchmarkPlots({ lines, columns, marks, unit }: Props) {
  const facets = useMemo(() => toFacets(lines), [lines]);
  return (
    <div className={classes.pictures} data-single={facets.length === 1}>
      {facets.map((facet) => (
        <figure key={facet.title} className={classes.picture}>
          {facet.title && <figcaption>{facet.title}</figcaption>}
          {facet.axis === null ? (
            <Bars facet={facet} columns={columns} marks={marks} unit={unit} />
          ) : (
            <Suspense fallback={<Skeleton height={230} />}>
              <LinePlot facet={facet} columns={columns} marks={marks} unit={unit} />
            </Suspense>
          )}
        </figure>
      ))}
    </div>
  );
}

function Bars({ facet, columns, marks, unit }: Omit<Props, 'lines'> & { facet: Facet }) {
  const all = columns.flatMap(({ values }) => facet.lines.map(({ key }) => values.get(key) ?? 0));
  const most = Math.max(...all, 0);
  const names = distinguishingNames(facet.lines);
  return (
    <div className={classes.bars} aria-hidden="true">
      {facet.lines.map(({ key, labels }) => (
        <div key={key} className={classes.group}>
          <span className={classes.what}>
            {joinWithCommas(names.map((name) => namedText(name, labels[name])))}
          </span>
          {columns.map((column, index) => (
            <Bar
              key={column.key}
              value={column.values.get(key)}
              most={most}
              unit={unit}
              mark={marks[index] ?? 0}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

interface BarProps {
  value: number | undefined;
  most: number;
  unit: string;
  mark: number;
}

function Bar({ value, most, unit, mark }: BarProps) {
  if (value === undefined) return null;
  return (
    <span className={classes.track}>
      <span
        className={classes.fill}
        style={{
          width: `${most > 0 ? (value / most) * 100 : 0}%`,
          background: markFill(mark),
        }}
      />
      <span className={classes.figure}>
        {figureText(value)} {unit}
      </span>
    </span>
  );
}
