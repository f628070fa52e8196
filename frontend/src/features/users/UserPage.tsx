import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { displayNameOf, loginOf } from '@/features/directory/names';
import { UserLimits } from '@/features/limits/UserLimits';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/DetailPage.module.css';
import { Notice } from '@/ui/Notice';
import { PageSkeleton } from '@/ui/PageSkeleton';
import { StateChip } from '@/ui/StateChip';
import { TryAgain } from '@/ui/TryAgain';
import { DeprovisionState } from './DeprovisionState';
import { HomeRuns } from './HomeRuns';
import { isDeleted, type UserAction, userStateLabel } from './labels';
import { MissingCapabilities } from './MissingCapabilities';
import { userQuery } from './queries';
import { ReadinessBox } from './ReadinessBox';
import { SecondFactorBox } from './SecondFactorBox';
import type { User } from './types';
import { UserActions } from './UserActions';
import { DirectoryFacts, PortalFacts } from './UserFacts';
import { UserGroups } from './UserGroups';
import { UserRole } from './UserRole';

/** The page of a user, for administrators. */
export function UserPage() {
  const { username } = useParams({ from: '/signed-in/admin/users/$username' });
  return (
    <AdminFrame tab={username} title={<Title username={username} />}>
      {/* Reset forms when another user's page opens. */}
      <Body key={username} username={username} />
    </AdminFrame>
  );
}

function Title({ username }: { username: string }) {
  const { data } = useQuery(userQuery(username));
  return data ? displayNameOf(data) : username;
}

function Body({ username }: { username: string }) {
  const { data, error, refetch } = useQuery(userQuery(username));
  if (error instanceof ApiError && error.status === 404)
    return data && isDeleted(data) ? (
      <Deleted username={loginOf(data)} />
    ) : (
      <UnknownUser username={username} />
    );
  return (
    <div className={classes.page}>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <PageSkeleton />}
      {data && <Whole user={data} />}
    </div>
  );
}

/** The page of a deleted username: the user's records have moved to another name, so it is free
 * again. */
function Deleted({ username }: { username: string }) {
  return (
    <Paper className={classes.box} role="status">
      <p className={classes.line}>
        <Trans>
          {username} is deleted, and the user name can be reused. Their actions remain in the audit
          log.
        </Trans>
      </p>
      <div className={classes.actions}>
        <Button component={Link} to="/admin/users" variant="default">
          <Trans>Show everyone</Trans>
        </Button>
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link {...props} to="/admin/users" search={{ state: 'deleted' }} />
          )}
        >
          <Trans>Show the deleted</Trans>
        </Button>
      </div>
    </Paper>
  );
}

function UnknownUser({ username }: { username: string }) {
  return (
    <Paper className={classes.box}>
      <p className={classes.line}>
        <Trans>There is no user {username} in the directory or in the portal's records.</Trans>
      </p>
      <Button component={Link} to="/admin/users" variant="default">
        <Trans>Show everyone</Trans>
      </Button>
    </Paper>
  );
}

const BEING_DELETED = { label: t`Being deleted`, tone: 'busy' } as const;

function Whole({ user }: { user: User }) {
  const admin = mayChange(useMe());
  const [dialog, setDialog] = useState<UserAction | null>(null);
  const { username } = user;
  const isBeingDeleted = isDeleted(user) && user.deleted_at === null;
  return (
    <>
      <div className={classes.head}>
        <StateChip {...(isBeingDeleted ? BEING_DELETED : userStateLabel(user))} />
        <code className={classes.username}>{loginOf(user)}</code>
        <nav className={classes.links} aria-label={t`More about ${username}`}>
          {!isDeleted(user) && (
            <Link to="/admin/limits" search={{ user: username }}>
              <Trans>Limits</Trans>
            </Link>
          )}
          <Link to="/admin/usage" search={{ by: 'user', q: loginOf(user) }}>
            <Trans>Usage</Trans>
          </Link>
          <Link to="/admin/audit" search={{ target: loginOf(user) }}>
            <Trans>Audit</Trans>
          </Link>
        </nav>
      </div>
      {admin && <UserActions user={user} dialog={dialog} setDialog={setDialog} />}
      {user.directory_problem && (
        <Notice tone="warning">{translate(user.directory_problem)}</Notice>
      )}
      {user.unmanaged && <Notice tone="info">{translate(user.unmanaged)}</Notice>}
      <DeprovisionState user={user} />
      {!isDeleted(user) && <ReadinessBox user={user} onAction={setDialog} />}
      {admin && !user.directory_problem && <MissingCapabilities capabilities={user.capabilities} />}
      <div className={classes.columns}>
        <div className={classes.column}>
          <DirectoryFacts user={user} />
          <UserGroups user={user} />
          <HomeRuns user={user} />
        </div>
        <div className={classes.column}>
          <PortalFacts user={user} />
          <UserRole user={user} />
          {!isDeleted(user) && <UserLimits username={username} />}
          <SecondFactorBox user={user} />
        </div>
      </div>
    </>
  );
}
