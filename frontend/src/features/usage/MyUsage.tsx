import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { sentence } from '@/api/problem';
import { clock } from '@/lib/clock';
import { Notice } from '@/ui/Notice';
import { monthOf, monthText, plusMonths } from './months';
import { myUsageQuery } from './queries';
import { Total } from './Total';
import classes from './Usage.module.css';
import { UsageTable } from './UsageTable';

const MONTHS_SHOWN = 12;

/** What one has used, month by month, the last year. */
export function MyUsage() {
  const to = monthOf(clock.now());
  const range = { from: plusMonths(to, 1 - MONTHS_SHOWN), to };
  const { data, error } = useQuery(myUsageQuery(range));
  return (
    <Paper component="section" className={classes.card} aria-labelledby="my-usage">
      <Title order={2} size="h4" id="my-usage" mb="sm">
        <Trans>Your usage</Trans>
      </Title>
      {error && !data && <Notice tone="error">{sentence(error)}</Notice>}
      {!data && !error && <Skeleton height={80} aria-label={t`Loading`} />}
      {data && <Total rows={data.items} asOf={data.as_of} from={data.counted_from} range={range} />}
      {data && data.items.length > 0 && (
        <UsageTable by="month" rows={data.items} name={({ name }) => monthText(name)} />
      )}
    </Paper>
  );
}
