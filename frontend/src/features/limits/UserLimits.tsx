import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId } from 'react';
import { errorMessage } from '@/api/problem';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Limits.module.css';
import { userLimitsQuery } from './queries';
import { UsageBars } from './UsageBars';

/** A user's usage and limits in short, for the user's page. */
export function UserLimits({ username }: { username: string }) {
  const { data, error, refetch } = useQuery(userLimitsQuery(username));
  const id = useId();
  return (
    <Paper component="section" className={classes.card} aria-labelledby={id}>
      <div className={classes.head}>
        <Title order={2} size="h4" id={id}>
          <Trans>Limits</Trans>
        </Title>
        <Link to="/admin/limits" search={{ user: username }}>
          <Trans>All limits of {username}</Trans>
        </Link>
      </div>
      {error && !data && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={120} aria-label={t`Loading`} />}
      {data && <UsageBars effective={data.effective} use={data.use} user={username} />}
    </Paper>
  );
}
