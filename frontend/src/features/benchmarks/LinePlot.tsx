import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import classes from './Benchmarks.module.css';
import { type Column, type Facet, figureText } from './figures';
import { COLOURS, DASHES } from './marks';

const HEIGHT_PX = 230;

interface Props {
  facet: Facet;
  columns: readonly Column[];
  unit: string;
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const short = (value: number): string =>
  value < 100_000
    ? Number(value.toPrecision(5)).toLocaleString()
    : value.toLocaleString(undefined, { notation: 'compact', maximumSignificantDigits: 3 });

function dataOf(facet: Facet, columns: readonly Column[]): uPlot.AlignedData {
  const places = facet.lines.map(({ labels }) => Number(labels[facet.axis ?? '']));
  const values = columns.map((column) =>
    facet.lines.map(({ key }) => column.values.get(key) ?? null),
  );
  return [places, ...values];
}

function options({ facet, columns, unit }: Props, width: number, marks: number[]): uPlot.Options {
  const places = facet.lines.map(({ labels }) => Number(labels[facet.axis ?? '']));
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
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
      ...columns.map(({ name }, index) => {
        const mark = marks[index] ?? 0;
        return {
          label: name,
          stroke: colour(COLOURS[mark % COLOURS.length] ?? '--busy'),
          dash: DASHES[Math.floor(mark / COLOURS.length) % DASHES.length] ?? [],
          width: 2,
          spanGaps: true,
          points: { show: true, size: 6 },
          value: (_plot: uPlot, value: number | null) => (value === null ? '' : figureText(value)),
        };
      }),
    ],
  };
}

/** A figure by the problem's size, a line for each column; the table beside it says the same. */
export function LinePlot(props: Props & { marks: number[] }) {
  const { facet, columns, unit, marks } = props;
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: its colours are the scheme's
  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    const wanted = options({ facet, columns, unit }, box.clientWidth, marks);
    const plot = new uPlot(wanted, dataOf(facet, columns), box);
    const resized = new ResizeObserver(() => {
      plot.setSize({ width: box.clientWidth, height: HEIGHT_PX });
    });
    resized.observe(box);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [facet, columns, unit, marks, scheme]);
  return <div ref={place} className={classes.plot} aria-hidden="true" />;
}
