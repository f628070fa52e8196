import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useId } from 'react';
import { errorMessage } from '@/api/problem';
import type { Limit } from '@/api/types';
import { GroupPick } from '@/features/directory/GroupPick';
import { UserPick } from '@/features/directory/UserPick';
import { CellNote, type Column, DataTable } from '@/ui/DataTable';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { TryAgain } from '@/ui/TryAgain';
import classes from './Limits.module.css';
import { limitText } from './labels';
import { limitsQuery } from './queries';
import { SlurmSyncState } from './SlurmSyncState';
import type { LimitsSearch } from './search';

/** All limits: the default, those of groups, and those of users. */
export function AllLimits() {
  const { data, error, refetch } = useQuery(limitsQuery);
  const limitsOfScope = (...scopes: Limit['scope'][]): Limit[] =>
    data?.filter(({ scope }) => scopes.includes(scope)) ?? [];
  return (
    <>
      <OpenLimits />
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <ListSkeleton rows={6} />}
      {data && (
        <>
          <DefaultSection limit={limitsOfScope('default')[0]} />
          <LimitTable
            title={t`Groups`}
            rows={limitsOfScope('member', 'group')}
            emptyText={t`No group has a limit.`}
          />
          <LimitTable
            title={t`Users with personal limits`}
            rows={limitsOfScope('user')}
            emptyText={t`No user has a personal limit: the default and group limits apply.`}
          />
        </>
      )}
    </>
  );
}

/** Fields that open the limits of any user or group, even if they have none yet. */
function OpenLimits() {
  const navigate = useNavigate();
  const show = (search: LimitsSearch): void => void navigate({ to: '/admin/limits', search });
  return (
    <div className={classes.pick}>
      <UserPick
        label={t`Limits of a user`}
        placeholder={t`Part of the name`}
        onPick={(user) => show({ user })}
      />
      <GroupPick
        label={t`Limits of a group`}
        placeholder={t`Part of the name`}
        onPick={(group) => show({ group })}
      />
    </div>
  );
}

function DefaultSection({ limit }: { limit: Limit | undefined }) {
  return (
    <section aria-labelledby="default">
      <div className={classes.head}>
        <Title order={2} size="h4" id="default">
          <Trans>Default for all users</Trans>
        </Title>
        <Link to="/admin/limits" search={{ default: true }}>
          <Trans>Open</Trans>
        </Link>
      </div>
      <Paper className={classes.none}>
        {limit ? (
          <>
            <div>{limitText(limit)}</div>
            {limit.slurm && <SlurmSyncState slurm={limit.slurm} />}
          </>
        ) : (
          t`No default limit: every user can use the whole cluster.`
        )}
      </Paper>
    </section>
  );
}

interface TableProps {
  title: string;
  rows: Limit[];
  /** shown without rows */
  emptyText: string;
}

function LimitTable({ title, rows, emptyText }: TableProps) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <Title order={2} size="h4" id={id} mb="sm">
        {title}
      </Title>
      <DataTable
        label={title}
        columns={COLUMNS}
        rows={rows}
        rowKey={({ scope, name }) => `${scope} ${name}`}
        empty={emptyText}
      />
    </section>
  );
}

const SCOPE_LABELS: Partial<Record<Limit['scope'], string>> = {
  member: t`each member`,
  group: t`all together`,
};

const COLUMNS: Column<Limit>[] = [
  {
    id: 'source',
    header: t`Applies to`,
    rowHeader: true,
    width: '14rem',
    cell: ({ scope, name }) => (
      <>
        <Link to="/admin/limits" search={scope === 'user' ? { user: name } : { group: name }}>
          {name}
        </Link>
        {SCOPE_LABELS[scope] && <CellNote>{SCOPE_LABELS[scope]}</CellNote>}
      </>
    ),
  },
  { id: 'limits', header: t`Limits`, cell: (limit) => limitText(limit) },
  {
    id: 'slurm',
    header: 'Slurm',
    width: '45%',
    cell: ({ slurm }) => slurm && <SlurmSyncState slurm={slurm} />,
  },
];
