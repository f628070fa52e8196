import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { SegmentedControl, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { clock } from '@/lib/clock';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { TryAgain } from '@/ui/TryAgain';
import { type Measure, nameText, periodText } from './chart';
import { type GroupBy, groupUsageHistoryQuery, groupUsageHref, groupUsageQuery } from './queries';
import { SpanFields } from './SpanFields';
import type { UsageSearch } from './search';
import { spanOf } from './span';
import { Total } from './Total';
import classes from './Usage.module.css';
import { UsageChart } from './UsageChart';
import { UsageTable } from './UsageTable';

/** The usage of a group's members, for its managers. */
export function GroupUsage({ group }: { group: string }) {
  const [search, setSearch] = useState<UsageSearch>({});
  const [measure, setMeasure] = useState<Measure | null>(null);
  const span = spanOf(search, clock.now());
  const [by, setBy] = useState<GroupBy>('user');
  const { data, error, refetch } = useQuery(groupUsageQuery(group, span, by));
  return (
    <section aria-labelledby="group-usage">
      <div className={classes.head}>
        <Title order={2} size="h4" id="group-usage">
          <Trans>Used</Trans>
        </Title>
        <a href={groupUsageHref(group, span, by)} download>
          <Trans>Download as CSV</Trans>
        </a>
      </div>
      <div className={classes.filters}>
        <SpanFields span={span} search={search} onChange={setSearch} />
        <SegmentedControl
          aria-label={t`Group by`}
          value={by}
          onChange={(value) => setBy(value as GroupBy)}
          data={[
            { value: 'user', label: t`By user` },
            { value: 'account', label: t`By Slurm account` },
            { value: 'period', label: t`By date` },
          ]}
        />
      </div>
      {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <ListSkeleton rows={4} />}
      {data && (
        <>
          <Total rows={data.items} asOf={data.as_of} from={data.counted_from} range={span} />
          {data.items.length > 0 && (
            <>
              <UsageChart
                chosen={measure}
                onChoose={setMeasure}
                rows={data.items}
                query={(one) => groupUsageHistoryQuery(group, span, by, one)}
              />
              <UsageTable
                key={`${by} ${span.step}`}
                by={by}
                step={span.step}
                rows={data.items}
                name={({ name }) => (by === 'period' ? periodText(name) : nameText(name))}
              />
            </>
          )}
        </>
      )}
    </section>
  );
}
