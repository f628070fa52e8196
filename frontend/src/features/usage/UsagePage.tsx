import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, SegmentedControl, VisuallyHidden } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { clock } from '@/lib/clock';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { SearchField } from '@/ui/SearchField';
import { TryAgain } from '@/ui/TryAgain';
import { type Measure, nameText, periodText } from './chart';
import { usageHistoryQuery, usageHref, usageQuery } from './queries';
import { filterRows, type Row } from './rows';
import { SpanFields } from './SpanFields';
import type { Grouping, UsageSearch } from './search';
import { rowsBy, type Span, spanOf } from './span';
import { Total } from './Total';
import classes from './Usage.module.css';
import { UsageChart } from './UsageChart';
import { UsageTable } from './UsageTable';

/** The usage by user, group, Slurm account or date, for administrators. */
export function UsagePage() {
  const search = useSearch({ from: '/signed-in/admin/usage' });
  const span = spanOf(search, clock.now());
  const by = search.by ?? 'user';
  return (
    <AdminFrame
      tab={t`Usage`}
      title={t`Usage`}
      aside={
        <a href={usageHref(span, by)} download>
          <Trans>Download as CSV</Trans>
        </a>
      }
    >
      <Filters search={search} span={span} by={by} />
      <Used span={span} by={by} text={search.q ?? ''} />
    </AdminFrame>
  );
}

interface FiltersProps {
  search: UsageSearch;
  span: Span;
  by: Grouping;
}

function Filters({ search, span, by }: FiltersProps) {
  const navigate = useNavigate();
  const show = (next: UsageSearch): void => {
    void navigate({ to: '/admin/usage', search: next, replace: true });
  };
  return (
    <search className={classes.filters} aria-label={t`Filter`}>
      <SpanFields span={span} search={search} onChange={show} />
      <SegmentedControl
        aria-label={t`Group by`}
        value={by}
        onChange={(value) => show({ ...search, by: value as Grouping })}
        data={[
          { value: 'user', label: t`By user` },
          { value: 'group', label: t`By group` },
          { value: 'account', label: t`By Slurm account` },
          { value: 'period', label: t`By date` },
        ]}
      />
      {by !== 'period' && (
        <SearchField
          className={classes.find}
          label={t`Find by name`}
          value={search.q ?? ''}
          onSearch={(q) => show({ ...search, q })}
        />
      )}
    </search>
  );
}

interface UsedProps {
  span: Span;
  by: Grouping;
  text: string;
}

function Used({ span, by, text }: UsedProps) {
  const [measure, setMeasure] = useState<Measure | null>(null);
  const { data, error, isPlaceholderData, refetch } = useQuery({
    ...usageQuery(span, by),
    placeholderData: keepPreviousData,
  });
  if (error) return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data || (isPlaceholderData && data.by !== rowsBy(by, span.step)))
    return <ListSkeleton rows={7} />;
  const rows = filterRows(data.items, by === 'period' ? '' : text);
  return (
    <>
      <Total rows={rows} asOf={data.as_of} from={data.counted_from} range={span} />
      {by === 'group' && rows.length > 1 && (
        <p className={classes.quiet}>
          <Trans>A user in several groups counts in each of them.</Trans>
        </p>
      )}
      {data.as_of !== null && rows.length === 0 && (
        <Paper className={classes.none}>
          {data.items.length === 0
            ? t`There is no usage in this period.`
            : t`There is no usage under this name in this period.`}
        </Paper>
      )}
      {data.items.length > 0 && (
        <section aria-labelledby="over-time">
          <VisuallyHidden component="h2" id="over-time">{t`Usage over time`}</VisuallyHidden>
          <UsageChart
            chosen={measure}
            onChoose={setMeasure}
            rows={data.items}
            query={(one) => usageHistoryQuery(span, by, one)}
          />
        </section>
      )}
      {rows.length > 0 && (
        <UsageTable
          key={`${by} ${span.step}`}
          by={by}
          step={span.step}
          rows={rows}
          name={(row) => <Name by={by} row={row} />}
        />
      )}
    </>
  );
}

function Name({ by, row }: { by: Grouping; row: Row }) {
  if (by === 'period') return periodText(row.name);
  if (by === 'account') return nameText(row.name);
  if (by === 'group')
    return (
      <Link to="/admin/groups/$group" params={{ group: row.name }}>
        {row.name}
      </Link>
    );
  return (
    <Link to="/admin/users/$username" params={{ username: row.name }}>
      {row.name}
    </Link>
  );
}
