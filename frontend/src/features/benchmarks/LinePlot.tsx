import { useMemo } from 'react';
import type uPlot from 'uplot';
import { locale } from '@/i18n';
import { axisStyle, lineStyle } from '@/ui/plot/styles';
import { type Drawing, usePlot } from '@/ui/plot/usePlot';
import classes from './Benchmarks.module.css';
import { type Column, type Facet, figureText } from './figures';

const HEIGHT_PX = 230;

interface Props {
  facet: Facet;
  columns: readonly Column[];
  /** by column, its mark */
  /** for each column, the index of its color and dash pattern (ui/plot/marks.ts) */
  marks: readonly number[];
  unit: string;
}

const short = (value: number): string =>
  value < 100_000
    ? Number(value.toPrecision(5)).toLocaleString(locale())
    : value.toLocaleString(locale(), { notation: 'compact', maximumSignificantDigits: 3 });

function dataOf(facet: Facet, columns: readonly Column[]): uPlot.AlignedData {
  const sizes = facet.lines.map(({ labels }) => Number(labels[facet.axis ?? '']));
  const values = columns.map((column) =>
    facet.lines.map(({ key }) => column.values.get(key) ?? null),
  );
  return [sizes, ...values];
}

function options({ facet, columns, marks, unit }: Props): ReturnType<Drawing['options']> {
  const sizes = facet.lines.map(({ labels }) => Number(labels[facet.axis ?? '']));
  const axis = axisStyle();
  return {
    height: HEIGHT_PX,
    padding: [10, 16, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, distr: 3, log: 2 },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        label: facet.axis ?? '',
        labelSize: 22,
        size: 28,
        splits: () => sizes,
        values: (_plot, splits) => splits.map(short),
      },
      { ...axis, label: unit, labelSize: 22, size: 62, values: (_plot, all) => all.map(short) },
    ],
    series: [
      {},
      ...columns.map(({ name }, index) => ({
        ...lineStyle(marks[index] ?? 0),
        label: name,
        width: 2,
        spanGaps: true,
        points: { show: true, size: 6 },
        value: (_plot: uPlot, value: number | null) => (value === null ? '' : figureText(value)),
      })),
    ],
  };
}

/** A chart of a figure by problem size, one line for each column. The table beside it has the same
 * data. */
export function LinePlot({ facet, columns, marks, unit }: Props) {
  const drawing = useMemo<Drawing>(
    () => ({
      data: dataOf(facet, columns),
      options: () => options({ facet, columns, marks, unit }),
    }),
    [facet, columns, marks, unit],
  );
  const container = usePlot(drawing);
  return <div ref={container} className={classes.plot} aria-hidden="true" />;
}
