import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import classes from './Usage.module.css';
import { type Chart, rows, timeText } from './usage';

/** What draws is heavy, and the figures are read before it is there. */
const UsePlot = lazy(async () => ({ default: (await import('./UsagePlot')).UsagePlot }));

/** As high as the picture and its line of figures will be. */
const HEIGHT_PX = 168;

/** A measured quantity over time, as a picture and as a table. */
export function UsageChart({ at, chart }: { at: number[]; chart: Chart }) {
  return (
    <figure className={classes.chart}>
      <figcaption>
        <h3>{chart.title}</h3>
        <p>{chart.text}</p>
      </figcaption>
      <Suspense fallback={<Skeleton height={HEIGHT_PX} />}>
        <UsePlot at={at} chart={chart} />
      </Suspense>
      <details className={classes.numbers}>
        <summary>{t`${{ figure: chart.title }} as a table`}</summary>
        <ChartTable at={at} chart={chart} />
      </details>
    </figure>
  );
}

function ChartTable({ at, chart }: { at: number[]; chart: Chart }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t`Since`}</th>
          {chart.lines.map(({ label }) => (
            <th scope="col" key={label}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows(at, chart).map(([time, texts]) => (
          <tr key={time}>
            <th scope="row">{timeText(time)}</th>
            {texts.map((text, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column has no other name
              <td key={index}>{text}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
