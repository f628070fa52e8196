import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { SegmentedControl, Skeleton, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import { clock } from '@/lib/clock';
import { Notice } from '@/ui/Notice';
import { MonthRange } from './MonthRange';
import { monthOf, monthText, type Range, rangeOf } from './months';
import { type GroupBy, groupUsageHref, groupUsageQuery } from './queries';
import { Total } from './Total';
import classes from './Usage.module.css';
import { UsageTable } from './UsageTable';

/** What the members of a group have used, for its managers. */
export function GroupUsage({ group }: { group: string }) {
  const [range, setRange] = useState<Range>(() => rangeOf({}, monthOf(clock.now())));
  const [by, setBy] = useState<GroupBy>('user');
  const { data, error } = useQuery(groupUsageQuery(group, range, by));
  return (
    <section aria-labelledby="group-usage">
      <div className={classes.head}>
        <Title order={2} size="h4" id="group-usage">
          <Trans>Used</Trans>
        </Title>
        <a href={groupUsageHref(group, range, by)} download>
          <Trans>Download as CSV</Trans>
        </a>
      </div>
      <div className={classes.filters}>
        <MonthRange range={range} onChange={setRange} />
        <SegmentedControl
          aria-label={t`Group by`}
          value={by}
          onChange={(value) => setBy(value as GroupBy)}
          data={[
            { value: 'user', label: t`By user` },
            { value: 'month', label: t`By month` },
          ]}
        />
      </div>
      {error && !data && <Notice tone="error">{sentence(error)}</Notice>}
      {!data && !error && <Skeleton height={160} radius="lg" aria-label={t`Loading`} />}
      {data && (
        <>
          <Total rows={data.items} asOf={data.as_of} from={data.counted_from} range={range} />
          {data.items.length > 0 && (
            <UsageTable
              key={by}
              by={by}
              rows={data.items}
              name={({ name }) => (by === 'month' ? monthText(name) : name)}
            />
          )}
        </>
      )}
    </section>
  );
}
