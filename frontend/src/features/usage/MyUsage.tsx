import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { clock } from '@/lib/clock';
import { TryAgain } from '@/ui/TryAgain';
import { type Measure, periodText } from './chart';
import { myUsageHistoryQuery, myUsageQuery } from './queries';
import { SpanFields } from './SpanFields';
import type { UsageSearch } from './search';
import { spanOf } from './span';
import { Total } from './Total';
import classes from './Usage.module.css';
import { UsageChart } from './UsageChart';
import { UsageTable } from './UsageTable';

/** The user's usage by day or month, by Slurm account in the chart. */
export function MyUsage() {
  const [search, setSearch] = useState<UsageSearch>({ range: 'year' });
  const [measure, setMeasure] = useState<Measure | null>(null);
  const span = spanOf(search, clock.now());
  const { data, error, refetch } = useQuery(myUsageQuery(span));
  return (
    <Paper component="section" className={classes.card} aria-labelledby="my-usage">
      <Title order={2} size="h4" id="my-usage" mb="sm">
        <Trans>Your usage</Trans>
      </Title>
      <div className={classes.filters}>
        <SpanFields span={span} search={search} onChange={setSearch} />
      </div>
      {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={80} aria-label={t`Loading`} />}
      {data && <Total rows={data.items} asOf={data.as_of} from={data.counted_from} range={span} />}
      {data && data.items.length > 0 && (
        <>
          <UsageChart
            chosen={measure}
            onChoose={setMeasure}
            rows={data.items}
            query={(one) => myUsageHistoryQuery(span, one)}
          />
          <UsageTable
            key={span.step}
            by="period"
            step={span.step}
            rows={data.items}
            name={({ name }) => periodText(name)}
            plain
          />
        </>
      )}
    </Paper>
  );
}
