import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useId, useMemo } from 'react';
import { errorMessage } from '@/api/problem';
import { TimeChart } from '@/ui/plot/TimeChart';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Cluster.module.css';
import { hasHistory, historyCharts, historyTimes, RANGE_LABELS } from './history';
import { historyQuery } from './queries';
import { HISTORY_RANGES, withChange } from './search';
import type { ClusterHistory, HistoryRange } from './types';

const HEIGHT_PX = 150;

/** Usage of the cluster, pending jobs and waits over time, with the range in the address. */
export function HistorySection() {
  const search = useSearch({ from: '/signed-in/cluster' });
  const navigate = useNavigate({ from: '/cluster' });
  const range = search.history ?? '24h';
  const { data, error, refetch } = useQuery(historyQuery(range));
  return (
    <section className={classes.section} aria-labelledby="history-title">
      <div className={classes.bar}>
        <h2 id="history-title" className={classes.title}>
          <Trans>History</Trans>
        </h2>
        <SegmentedControl<HistoryRange>
          aria-label={t`Range of the history`}
          size="xs"
          value={range}
          onChange={(history) =>
            void navigate({
              to: '/cluster',
              search: (now) => withChange(now, { history }),
              replace: true,
              resetScroll: false,
            })
          }
          data={HISTORY_RANGES.map((value) => ({ value, label: RANGE_LABELS[value] }))}
        />
      </div>
      {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!error && !data && <Skeleton height={220} radius="lg" aria-label={t`Loading`} />}
      {data && (hasHistory(data) ? <Charts history={data} /> : <Empty />)}
    </section>
  );
}

function Empty() {
  return (
    <p className={classes.quiet}>
      <Trans>
        Nothing was recorded in this time. The portal records the cluster once a minute while Slurm
        responds; the first points appear here within two minutes.
      </Trans>
    </p>
  );
}

function Charts({ history }: { history: ClusterHistory }) {
  const syncKey = useId();
  const at = useMemo(() => historyTimes(history), [history]);
  const charts = useMemo(() => historyCharts(history), [history]);
  return (
    <Paper className={classes.history}>
      {charts.map(({ key, ...chart }) => (
        <TimeChart key={key} at={at} {...chart} heightPx={HEIGHT_PX} syncKey={syncKey} />
      ))}
    </Paper>
  );
}
