import { t } from '@lingui/core/macro';
import { type ReactNode, useState } from 'react';
import { lazyPart } from '../lazyPart';
import { ChartFigure } from './ChartFigure';
import { SeriesTable } from './ChartTable';
import { markFill } from './marks';
import classes from './Plot.module.css';
import type { StackedBarsProps } from './StackedBars';
import { type StackedSeries, sumOf } from './stack';
import type { PlotUnit } from './units';

const StackedBars = lazyPart(async () => (await import('./StackedBars')).StackedBars);

const HEIGHT_PX = 220;

interface Props extends Omit<StackedBarsProps, 'heightPx' | 'onPoint'> {
  title: string;
  /** the heading of the periods in the table */
  periodTitle: string;
  /** the periods' names in full */
  periodNames: readonly string[];
  text?: ReactNode;
}

/** Quantities by period as stacked bars, with a legend, and as a table. `periods` and `series` must
 * be the same objects until they change: the chart is drawn again for new ones. */
export function StackedChart({ title, text, periodTitle, periodNames, ...bars }: Props) {
  const [period, setPeriod] = useState<number | null>(null);
  const { series, unit } = bars;
  return (
    <ChartFigure
      title={title}
      text={text}
      heightPx={HEIGHT_PX}
      plot={<StackedBars heightPx={HEIGHT_PX} {...bars} onPoint={setPeriod} />}
      legend={
        <Legend
          series={series}
          unit={unit}
          period={period}
          name={period === null ? undefined : periodNames[period]}
        />
      }
      table={
        <div className={classes.wide}>
          <PeriodTable title={periodTitle} names={periodNames} series={series} unit={unit} />
        </div>
      }
    />
  );
}

interface LegendProps {
  series: readonly StackedSeries[];
  unit: PlotUnit;
  /** the period under the pointer; null: the whole range */
  period: number | null;
  name: string | undefined;
}

function Legend({ series, unit, period, name }: LegendProps) {
  const value = ({ values }: StackedSeries): string => {
    const one = period === null ? sumOf(values) : (values[period] ?? null);
    return one === null ? '–' : unit.text(one);
  };
  return (
    <ul className={classes.legend} aria-label={t`Legend`}>
      <li>{name ?? t`In total`}</li>
      {series.map((one, index) => (
        <li key={one.label}>
          <span
            className={classes.swatch}
            style={{ background: one.color === undefined ? markFill(index) : `var(${one.color})` }}
          />
          {one.label} <span className={classes.value}>{value(one)}</span>
        </li>
      ))}
    </ul>
  );
}

interface TableProps {
  title: string;
  names: readonly string[];
  series: readonly StackedSeries[];
  unit: PlotUnit;
}

function PeriodTable({ title, names, series, unit }: TableProps) {
  const rows = names.map((name, index) => ({
    key: name,
    name,
    texts: series.map(({ values }) => {
      const value = values[index] ?? null;
      return value === null ? '–' : unit.text(value);
    }),
  }));
  return <SeriesTable heading={title} labels={series.map(({ label }) => label)} rows={rows} />;
}
