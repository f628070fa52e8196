import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, SegmentedControl, Skeleton } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { sentence } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { clock } from '@/lib/clock';
import { Notice } from '@/ui/Notice';
import { SearchField } from '@/ui/SearchField';
import { MonthRange } from './MonthRange';
import { monthOf, monthText, type Range, rangeOf } from './months';
import { usageHref, usageQuery } from './queries';
import { filtered, type Row } from './rows';
import type { By, UsageSearch } from './search';
import { Total } from './Total';
import classes from './Usage.module.css';
import { UsageTable } from './UsageTable';

/** What was used, by user, group or month, for administrators. */
export function UsagePage() {
  const search = useSearch({ from: '/member/admin/usage' });
  const range = rangeOf(search, monthOf(clock.now()));
  const by = search.by ?? 'user';
  return (
    <AdminFrame
      tab={t`Usage`}
      title={t`Usage`}
      aside={
        <a href={usageHref(range, by)} download>
          <Trans>Download as CSV</Trans>
        </a>
      }
    >
      <Filters search={search} range={range} by={by} />
      <Used range={range} by={by} text={search.q ?? ''} />
    </AdminFrame>
  );
}

interface FiltersProps {
  search: UsageSearch;
  range: Range;
  by: By;
}

function Filters({ search, range, by }: FiltersProps) {
  const navigate = useNavigate();
  const show = (change: UsageSearch): void => {
    void navigate({ to: '/admin/usage', search: { ...search, ...change }, replace: true });
  };
  return (
    <search className={classes.filters} aria-label={t`Filter`}>
      <MonthRange range={range} onChange={show} />
      <SegmentedControl
        aria-label={t`Group by`}
        value={by}
        onChange={(value) => show({ by: value as By })}
        data={[
          { value: 'user', label: t`By user` },
          { value: 'group', label: t`By group` },
          { value: 'month', label: t`By month` },
        ]}
      />
      {by !== 'month' && (
        <SearchField
          className={classes.find}
          label={t`Find by name`}
          value={search.q ?? ''}
          onSearch={(q) => show({ q })}
        />
      )}
    </search>
  );
}

interface UsedProps {
  range: Range;
  by: By;
  text: string;
}

function Used({ range, by, text }: UsedProps) {
  const { data, error, isPlaceholderData } = useQuery({
    ...usageQuery(range, by),
    placeholderData: keepPreviousData,
  });
  if (error) return <Notice tone="error">{sentence(error)}</Notice>;
  if (!data || (isPlaceholderData && data.by !== by))
    return <Skeleton height={300} radius="lg" aria-label={t`Loading`} />;
  const rows = filtered(data.items, by === 'month' ? '' : text);
  return (
    <>
      <Total rows={rows} asOf={data.as_of} from={data.counted_from} range={range} />
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
      {rows.length > 0 && (
        <UsageTable key={by} by={by} rows={rows} name={(row) => <Name by={by} row={row} />} />
      )}
    </>
  );
}

function Name({ by, row }: { by: By; row: Row }) {
  if (by === 'month') return monthText(row.name);
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
