import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Button, Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { can } from '@/features/directory/capabilities';
import { UserPick } from '@/features/directory/UserPick';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { Chips } from '@/ui/Chips';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import classes from '@/ui/DetailPage.module.css';
import { PageSkeleton } from '@/ui/PageSkeleton';
import { TryAgain } from '@/ui/TryAgain';
import { useReauthAction } from '@/ui/useReauthAction';
import { deleteGroup, setManager, setMember } from './actions';
import { groupEffects, memberCountText } from './labels';
import { Members } from './Members';
import { groupQuery } from './queries';
import type { WholeGroup } from './types';

/** A group: its members and managers. */
export function GroupPage() {
  const { group } = useParams({ from: '/signed-in/admin/groups/$group' });
  return (
    <AdminFrame tab={group} title={group}>
      <Body key={group} name={group} />
    </AdminFrame>
  );
}

function Body({ name }: { name: string }) {
  const { data, error, refetch } = useQuery(groupQuery(name));
  if (error instanceof ApiError && error.status === 404)
    return (
      <Paper className={classes.box}>
        <p className={classes.line}>
          <Trans>There is no group {name} in the directory.</Trans>
        </p>
        <Button component={Link} to="/admin/groups" variant="default">
          <Trans>Show all groups</Trans>
        </Button>
      </Paper>
    );
  return (
    <div className={classes.page}>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <PageSkeleton />}
      {data && <Whole group={data} />}
    </div>
  );
}

function Whole({ group }: { group: WholeGroup }) {
  const admin = mayChange(useMe());
  const why = translate(group.capabilities.missing.groups);
  const { name, gid } = group;
  const size = memberCountText(group.member_count);
  const about = groupEffects(group);
  const changing = admin && can(group.capabilities, 'groups');
  return (
    <>
      <div className={classes.head}>
        <span className={classes.line}>
          {gid === null ? (
            <Trans>
              {size}. {about}
            </Trans>
          ) : (
            <Trans>
              {size}, GID {gid}. {about}
            </Trans>
          )}
        </span>
        <nav className={classes.links} aria-label={t`More about ${name}`}>
          <Link to="/admin/limits" search={{ group: name }}>
            <Trans>Limits</Trans>
          </Link>
          <Link to="/admin/usage" search={{ by: 'group', q: name }}>
            <Trans>Usage</Trans>
          </Link>
          <Link to="/admin/audit" search={{ target: name }}>
            <Trans>Audit</Trans>
          </Link>
        </nav>
      </div>
      {admin && why && (
        <p className={classes.quiet}>
          <Trans>The portal can't change groups in this directory. {why}</Trans>
        </p>
      )}
      <div className={classes.sides}>
        <MembersBox group={group} changing={changing} />
        <div className={classes.page}>
          <GroupManagers group={group} changing={admin} />
          {group.groups.length > 0 && (
            <Paper component="section" className={classes.box} aria-labelledby="within">
              <h2 className={classes.heading} id="within">
                <Trans>Nested groups</Trans>
              </h2>
              <Chips label={t`Nested groups of ${name}`} names={group.groups} to="group" />
            </Paper>
          )}
          {changing && <Deletion group={group} />}
        </div>
      </div>
    </>
  );
}

interface Part {
  group: WholeGroup;
  changing: boolean;
}

function MembersBox({ group, changing }: Part) {
  const { busy, change, withPassword } = useReauthAction();
  const own = group.members.filter((member) => !member.inherited).map(({ username }) => username);
  return (
    <Paper component="section" className={classes.box} aria-labelledby="members">
      <h2 className={classes.heading} id="members">
        <Trans>Members</Trans>
      </h2>
      {changing && (
        <div className={classes.wide}>
          <UserPick
            label={t`Add a user`}
            placeholder={t`Type to find a user`}
            without={own}
            disabled={busy}
            onPick={(username) => change(() => setMember(group.name, username, true))}
          />
        </div>
      )}
      <Members
        group={group.name}
        members={group.members}
        links
        onRemove={
          changing
            ? (username) => withPassword(() => setMember(group.name, username, false))
            : undefined
        }
      />
    </Paper>
  );
}

function GroupManagers({ group, changing }: Part) {
  const { name } = group;
  const { busy, change, withPassword } = useReauthAction();
  return (
    <Paper component="section" className={classes.box} aria-labelledby="managers">
      <h2 className={classes.heading} id="managers">
        <Trans>Managers</Trans>
      </h2>
      <p className={classes.quiet}>
        <Trans>
          Managers see the usage of the group's members and set their limits. They can't change
          anything else.
        </Trans>
      </p>
      {group.managers.length > 0 && (
        <Chips
          label={t`Managers of ${name}`}
          names={group.managers}
          to="user"
          onRemove={
            changing
              ? (username) => withPassword(() => setManager(name, username, false))
              : undefined
          }
          removeLabel={(username) => t`${username} no longer manages ${name}`}
        />
      )}
      {changing && (
        <div className={classes.wide}>
          <UserPick
            label={t`Add a manager`}
            placeholder={t`Type to find a user`}
            without={group.managers}
            disabled={busy}
            onPick={(username) => change(() => setManager(name, username, true))}
          />
        </div>
      )}
    </Paper>
  );
}

function Deletion({ group }: { group: WholeGroup }) {
  const { name } = group;
  const navigate = useNavigate();
  const [confirming, setConfirming] = useState(false);
  const remove = async (): Promise<void> => {
    await deleteGroup(name);
    await navigate({ to: '/admin/groups' });
  };
  return (
    <>
      <div>
        <Button variant="default" c="var(--bad)" onClick={() => setConfirming(true)}>
          <Trans>Delete the group…</Trans>
        </Button>
      </div>
      <ConfirmDialog
        opened={confirming}
        onClose={() => setConfirming(false)}
        title={t`Delete the group ${name}?`}
        act={remove}
        button={t`Delete the group`}
        danger
      >
        <Text size="sm">
          <Plural
            value={group.members.length}
            _0="The group has no members. Files that belong to it keep its GID."
            one="Its # member stays in the directory and loses the access that the group gives. Files that belong to it keep its GID."
            other="Its # members stay in the directory and lose the access that the group gives. Files that belong to it keep its GID."
          />
        </Text>
      </ConfirmDialog>
    </>
  );
}
