import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import { TryAgain } from '@/ui/TryAgain';
import { LimitCard } from './LimitCard';
import classes from './Limits.module.css';
import { defaultFallbacks } from './labels';
import { limitsQuery } from './queries';
import type { Scope } from './types';

/** Both limits of a group: per member, and the group total. */
export function GroupView({ group }: { group: string }) {
  const { data, error, refetch } = useQuery(limitsQuery);
  if (error && !data)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={320} radius="lg" aria-label={t`Loading`} />;
  const limitOfScope = (requested: Scope) =>
    data.find(({ scope, name }) => scope === requested && name === group);
  const defaultLimit = data.find(({ scope }) => scope === 'default');
  return (
    <>
      <nav className={classes.links} aria-label={t`More about ${group}`}>
        <Link to="/admin/groups/$group" params={{ group }}>
          <Trans>Group</Trans>
        </Link>
        <Link to="/admin/usage" search={{ by: 'group', q: group }}>
          <Trans>Usage</Trans>
        </Link>
      </nav>
      <LimitCard
        source={{ scope: 'member', name: group }}
        title={t`Each member`}
        about={t`Applies to each member separately. A user in several groups gets the most generous value; a personal limit takes precedence.`}
        limit={limitOfScope('member')}
        fallbacks={defaultFallbacks(defaultLimit)}
      />
      <LimitCard
        source={{ scope: 'group', name: group }}
        title={t`All members together`}
        about={t`The total that all members together may use at one time. It applies in addition to the limit of each member.`}
        limit={limitOfScope('group')}
      />
    </>
  );
}
