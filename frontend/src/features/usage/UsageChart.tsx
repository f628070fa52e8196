import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, SegmentedControl, Skeleton } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { errorMessage } from '@/api/problem';
import type { UsageHistory } from '@/api/types';
import { StackedChart } from '@/ui/plot/StackedChart';
import { TryAgain } from '@/ui/TryAgain';
import { HOURS, initialMeasure, type Measure, periodTexts, usageSeries } from './chart';
import type { HistoryQuery } from './queries';
import type { Row } from './rows';
import classes from './Usage.module.css';

interface Props {
  /** returns the query for GPU-hours or CPU-hours */
  query: (measure: Measure) => HistoryQuery;
  /** the totals of the same range, which decide what is shown first */
  rows: readonly Row[];
  /** the user's choice, which outlives the chart; null: none */
  chosen: Measure | null;
  onChoose: (measure: Measure) => void;
}

/** Hours by day or month as stacked bars, with the choice of GPU-hours or CPU-hours. */
export function UsageChart({ query, rows, chosen, onChoose }: Props) {
  const measure = chosen ?? initialMeasure(rows);
  const { data, error, refetch } = useQuery({
    ...query(measure),
    placeholderData: keepPreviousData,
  });
  return (
    <Paper className={classes.chart}>
      <SegmentedControl<Measure>
        aria-label={t`Measure`}
        size="xs"
        value={measure}
        onChange={onChoose}
        data={[
          { value: 'gpu_hours', label: t`GPU-hours` },
          { value: 'cpu_hours', label: t`CPU-hours` },
        ]}
      />
      {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={260} aria-label={t`Loading`} />}
      {data && <Bars history={data} />}
    </Paper>
  );
}

function Bars({ history }: { history: UsageHistory }) {
  const series = useMemo(() => usageSeries(history), [history]);
  const texts = useMemo(() => periodTexts(history), [history]);
  if (series.length === 0)
    return (
      <p className={classes.quiet}>
        {history.measure === 'gpu_hours' ? (
          <Trans>No GPU-hours were used in this period.</Trans>
        ) : (
          <Trans>No CPU-hours were used in this period.</Trans>
        )}
      </p>
    );
  return (
    <StackedChart
      title={titleOf(history)}
      periodTitle={history.step === 'day' ? t`Day` : t`Month`}
      periods={texts.short}
      periodNames={texts.full}
      series={series}
      unit={HOURS}
    />
  );
}

function titleOf({ measure, step }: UsageHistory): string {
  if (measure === 'gpu_hours')
    return step === 'day' ? t`GPU-hours per day` : t`GPU-hours per month`;
  return step === 'day' ? t`CPU-hours per day` : t`CPU-hours per month`;
}
