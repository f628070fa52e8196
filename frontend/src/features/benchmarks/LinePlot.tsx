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
  /** by column, how it is drawn */
  marks: readonly number[];
  unit: string;
}

const short = (value: number): string =>
  value < 100_000
    ? Number(value.toPrecision(5)).toLocaleString(locale())
    : value.toLocaleString(locale(), { notation: 'compact', maximumSignificantDigits: 3 });

function dataOf(facet: Facet, columns: readonly Column[]): uPlot.AlignedData {
  const places = facet.lines.map(({ labels }) => Number(labels[facet.axis ?? '']));
  const values = columns.map((column) =>
    facet.lines.map(({ key }) => column.values.get(key) ?? null),
  );
  return [places, ...values];
}

function options({ facet, columns, marks, unit }: Props): ReturnType<Drawing['options']> {
  const places = facet.lines.map(({ labels }) => Number(labels[facet.axis ?? '']));
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
        splits: () => places,
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

/** A figure by the problem's size, a line for each column; the table beside it says the same. */
export function LinePlot({ facet, columns, marks, unit }: Props) {
  const drawing = useMemo<Drawing>(
    () => ({
      data: dataOf(facet, columns),
      options: () => options({ facet, columns, marks, unit }),
    }),
    [facet, columns, marks, unit],
  );
  const place = usePlot(drawing);
  return <div ref={place} className={classes.plot} aria-hidden="true" />;
}
