import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { errorMessage } from '@/api/problem';
import type { Job } from '@/api/types';
import { translate } from '@/i18n/translate';
import { Notice } from '@/ui/Notice';
import { TryAgain } from '@/ui/TryAgain';
import { LeftOutNotes } from './JobMetrics';
import { MetricCharts } from './MetricCharts';
import classes from './Metrics.module.css';
import { comparedCurvesQuery, curvesInterval } from './queries';

/** The metrics of several jobs, one chart for each tag with the lines of all. `jobs` must be the
 * same object until it changes. */
export function ComparedMetrics({ jobs }: { jobs: readonly Job[] }) {
  const ids = useMemo(() => jobs.map(({ id }) => id), [jobs]);
  const { data, error, refetch } = useQuery({
    ...comparedCurvesQuery(ids),
    refetchInterval: ({ state }) => curvesInterval(jobs, state.data?.items, Date.now()),
  });
  const named = useMemo(() => {
    const names = new Map(jobs.map(({ id, name }) => [id, name]));
    return data?.items.map(({ id, curves }) => ({ id, name: names.get(id) ?? '', curves })) ?? [];
  }, [jobs, data]);
  if (data === undefined)
    return error ? (
      <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />
    ) : (
      <Skeleton height={200} aria-label={t`Loading`} />
    );
  const problem = data.items.find((item) => item.problem !== null)?.problem;
  return (
    <div className={classes.section}>
      {problem && <Notice tone="warning">{translate(problem)}</Notice>}
      {named.some(({ curves }) => curves.length > 0) ? (
        <MetricCharts jobs={named} />
      ) : (
        <p className={classes.note}>{t`No metrics were logged.`}</p>
      )}
      <LeftOutNotes answers={data.items} />
    </div>
  );
}
