import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { Fold } from '../Fold';
import classes from './Plot.module.css';

interface Props {
  title: string;
  /** the figures as a sentence */
  text?: ReactNode;
  /** the height of the space that is kept until the chart is loaded */
  heightPx: number;
  /** a lazy component: the chart library is large, and the figures are useful without it */
  plot: ReactNode;
  legend?: ReactNode;
  table: ReactNode;
}

/** A chart with its title, and the same numbers as a table. */
export function ChartFigure({ title, text, heightPx, plot, legend, table }: Props) {
  return (
    <figure className={classes.chart}>
      <figcaption>
        <h3>{title}</h3>
        {text !== undefined && <p>{text}</p>}
      </figcaption>
      <Suspense fallback={<Skeleton height={heightPx} />}>{plot}</Suspense>
      {legend}
      <Fold className={classes.numbers} summary={t`${{ figure: title }} as a table`}>
        {table}
      </Fold>
    </figure>
  );
}
