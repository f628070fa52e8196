import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import type { UserLimits } from '@/api/types';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { DataTable } from '@/ui/DataTable';
import { TryAgain } from '@/ui/TryAgain';
import { Associations } from './Associations';
import { GroupTotals } from './GroupTotals';
import { LimitCard } from './LimitCard';
import classes from './Limits.module.css';
import { FIELDS, fallbacksOf, LABELS, limitValueText, originText } from './labels';
import { limitsQuery, userLimitsQuery } from './queries';
import { UsageBars } from './UsageBars';

/** One user: usage, effective limits, the user's own limit, and their associations in Slurm. */
export function UserView({ username }: { username: string }) {
  const { data, error, refetch } = useQuery(userLimitsQuery(username));
  const all = useQuery(limitsQuery);
  if (error && !data)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data || all.isPending) return <Skeleton height={420} radius="lg" aria-label={t`Loading`} />;
  // The limit in the list also has its state in Slurm.
  const listed = all.data?.find(({ scope, name }) => scope === 'user' && name === username);
  const limit = listed ?? data.limits.find(({ scope }) => scope === 'user');
  return (
    <>
      <Links username={username} groups={data.groups} />
      <Paper component="section" className={classes.card} aria-labelledby="in-use">
        <Title order={2} size="h4" id="in-use" mb="sm">
          <Trans>In use now</Trans>
        </Title>
        <UsageBars effective={data.effective} use={data.use} user={username} />
      </Paper>
      <GroupTotals totals={data.together} />
      <EffectiveLimits limits={data} />
      <LimitCard
        source={{ scope: 'user', name: username }}
        title={t`Personal limits of ${username}`}
        limit={limit}
        fallbacks={fallbacksOf(data.effective)}
      />
      {data.slurm && <Associations associations={data.slurm} />}
    </>
  );
}

function Links({ username, groups }: { username: string; groups: string[] }) {
  return (
    <nav className={classes.links} aria-label={t`More about ${username}`}>
      <Link to="/admin/users/$username" params={{ username }}>
        <Trans>User</Trans>
      </Link>
      <Link to="/admin/usage" search={{ by: 'user', q: username }}>
        <Trans>Usage</Trans>
      </Link>
      <Link to="/admin/audit" search={{ target: username }}>
        <Trans>Audit</Trans>
      </Link>
      {groups.map((group) => (
        <Link key={group} to="/admin/limits" search={{ group }}>
          <Trans>Limits of {group}</Trans>
        </Link>
      ))}
    </nav>
  );
}

/** The effective limits, for viewers; the form of administrators contains them. */
function EffectiveLimits({ limits }: { limits: UserLimits }) {
  const change = mayChange(useMe());
  if (change) return null;
  return (
    <DataTable
      label={t`Effective limits`}
      columns={[
        {
          id: 'field',
          header: <Trans context="limits">Limit</Trans>,
          cell: (field) => LABELS[field],
          rowHeader: true,
        },
        {
          id: 'limit',
          header: t`Limit`,
          cell: (field) => limitValueText(field, limits.effective[field]?.value),
          narrowBeside: true,
        },
        {
          id: 'origin',
          header: t`Source`,
          cell: (field) =>
            originText(limits.effective[field]?.from ?? null, limits.username) || '–',
        },
      ]}
      rows={FIELDS}
      rowKey={(field) => field}
    />
  );
}
