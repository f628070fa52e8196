import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, sentence } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { loginOf, nameOf } from '@/features/directory/names';
import { PersonLimits } from '@/features/limits/PersonLimits';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/DetailPage.module.css';
import { Notice } from '@/ui/Notice';
import { StateChip } from '@/ui/StateChip';
import { DeprovisionState } from './DeprovisionState';
import { HomeRuns } from './HomeRuns';
import { type Act, isLeaving, userStateLabel } from './labels';
import { MissingCapabilities } from './MissingCapabilities';
import { PersonActions } from './PersonActions';
import { DirectoryFacts, PortalFacts } from './PersonFacts';
import { PersonGroups } from './PersonGroups';
import { PersonRole } from './PersonRole';
import { personQuery } from './queries';
import { ReadinessBox } from './ReadinessBox';
import { SecondFactorBox } from './SecondFactorBox';
import type { Person } from './types';

/** Everything about one person, and what an administrator does for them. */
export function PersonPage() {
  const { username } = useParams({ from: '/member/admin/people/$username' });
  return (
    <AdminFrame tab={username} title={<Title username={username} />}>
      {/* What was typed about one person shall not follow to the next. */}
      <Body key={username} username={username} />
    </AdminFrame>
  );
}

function Title({ username }: { username: string }) {
  const { data } = useQuery(personQuery(username));
  return data ? nameOf(data) : username;
}

function Body({ username }: { username: string }) {
  const { data, error } = useQuery(personQuery(username));
  if (error instanceof ApiError && error.status === 404)
    return data && isLeaving(data) ? (
      <Deleted username={loginOf(data)} />
    ) : (
      <UnknownUser username={username} />
    );
  return (
    <div className={classes.page}>
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {!data && !error && <Skeleton height={360} radius="lg" aria-label={t`Loading`} />}
      {data && <Whole person={data} />}
    </div>
  );
}

/** A deleted user's records move to another name, so the username is free again. */
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
        <Button component={Link} to="/admin/people" variant="default">
          <Trans>Show everyone</Trans>
        </Button>
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link {...props} to="/admin/people" search={{ state: 'deleted' }} />
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
      <Button component={Link} to="/admin/people" variant="default">
        <Trans>Show everyone</Trans>
      </Button>
    </Paper>
  );
}

const BEING_DELETED = { label: t`Being deleted`, tone: 'busy' } as const;

function Whole({ person }: { person: Person }) {
  const admin = mayChange(useMe());
  const [dialog, setDialog] = useState<Act | null>(null);
  const { username } = person;
  const isBeingDeleted = isLeaving(person) && person.deleted_at === null;
  return (
    <>
      <div className={classes.head}>
        <StateChip {...(isBeingDeleted ? BEING_DELETED : userStateLabel(person))} />
        <code className={classes.username}>{loginOf(person)}</code>
        <nav className={classes.links} aria-label={t`More about ${username}`}>
          {!isLeaving(person) && (
            <Link to="/admin/limits" search={{ person: username }}>
              <Trans>Limits</Trans>
            </Link>
          )}
          <Link to="/admin/usage" search={{ by: 'person', q: loginOf(person) }}>
            <Trans>Usage</Trans>
          </Link>
          <Link to="/admin/audit" search={{ target: loginOf(person) }}>
            <Trans>Audit</Trans>
          </Link>
        </nav>
      </div>
      {admin && <PersonActions person={person} dialog={dialog} setDialog={setDialog} />}
      {person.directory_problem && (
        <Notice tone="warning">{translate(person.directory_problem)}</Notice>
      )}
      {person.unmanaged && <Notice tone="info">{translate(person.unmanaged)}</Notice>}
      <DeprovisionState person={person} />
      {!isLeaving(person) && <ReadinessBox person={person} onAct={setDialog} />}
      {admin && !person.directory_problem && (
        <MissingCapabilities capabilities={person.capabilities} />
      )}
      <div className={classes.columns}>
        <div className={classes.column}>
          <DirectoryFacts person={person} />
          <PersonGroups person={person} />
          <HomeRuns person={person} />
        </div>
        <div className={classes.column}>
          <PortalFacts person={person} />
          <PersonRole person={person} />
          {!isLeaving(person) && <PersonLimits username={username} />}
          <SecondFactorBox person={person} />
        </div>
      </div>
    </>
  );
}
