import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import type { UserLimits } from '@/api/types';
import { TryAgain } from '@/ui/TryAgain';
import { GroupTotals } from './GroupTotals';
import classes from './Limits.module.css';
import { FIELDS, LABELS, limitValueText, originText } from './labels';
import { myLimitsQuery } from './queries';
import { UsageBars } from './UsageBars';

/** The user's own limits and usage, with the source of each limit. */
export function MySection() {
  const { data, error, refetch } = useQuery(myLimitsQuery);
  return (
    <>
      <Paper component="section" className={classes.card} aria-labelledby="my-limits">
        <Title order={2} size="h4" id="my-limits" mb="sm">
          <Trans>Your limits</Trans>
        </Title>
        {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
        {!data && !error && <Skeleton height={120} aria-label={t`Loading`} />}
        {data && (
          <>
            <UsageBars effective={data.effective} use={data.use} />
            <OtherLimits limits={data} />
          </>
        )}
      </Paper>
      {data && <GroupTotals totals={data.together} />}
    </>
  );
}

/** Limits without a bar: time limit, partitions, accounts and QOS. */
function OtherLimits({ limits }: { limits: UserLimits }) {
  const limited = FIELDS.filter(
    (field) =>
      ['time_limit_minutes', 'partitions', 'accounts', 'qos'].includes(field) &&
      (limits.effective[field]?.value ?? null) !== null,
  );
  return (
    <>
      {limited.length > 0 && (
        <dl className={classes.otherLimits}>
          {limited.map((field) => {
            const effective = limits.effective[field];
            return (
              <div key={field}>
                <dt>{LABELS[field]}</dt>
                <dd>
                  {limitValueText(field, effective?.value)}{' '}
                  <span className={classes.origin}>{originText(effective?.from ?? null)}</span>
                </dd>
              </div>
            );
          })}
        </dl>
      )}
      <Text size="sm" c="dimmed" mt="md">
        <Trans>
          The same limits apply to jobs you submit in a terminal. For more, ask your administrators.
        </Trans>
      </Text>
    </>
  );
}
