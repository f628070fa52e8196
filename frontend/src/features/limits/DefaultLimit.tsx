import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import { TryAgain } from '@/ui/TryAgain';
import { LimitCard } from './LimitCard';
import { limitsQuery } from './queries';

/** The limit of every user without a more specific one. */
export function DefaultLimit() {
  const { data, error, refetch } = useQuery(limitsQuery);
  if (error) return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={320} radius="lg" aria-label={t`Loading`} />;
  return (
    <LimitCard
      source={{ scope: 'default', name: '' }}
      title={t`Default for all users`}
      about={t`Applies to users if neither a personal limit nor a group limit sets a value.`}
      limit={data.find(({ scope }) => scope === 'default')}
    />
  );
}
