import { Button, Paper, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, sentence } from '@/api/problem';
import { mayChange } from '@/features/account/roles';
import { useMe } from '@/features/account/useMe';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { Chips } from '@/features/people/Chips';
import classes from '@/features/people/Person.module.css';
import { PersonPick } from '@/features/people/SearchPick';
import { can } from '@/features/people/words';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Notice } from '@/ui/Notice';
import { useChange } from '@/ui/useChange';
import { deleteGroup, setLeader, setMember } from './actions';
import { Members } from './Members';
import { groupQuery } from './queries';
import type { WholeGroup } from './shapes';
import { meaning, sizeText } from './words';

/** One group: who is in it, who leads it. */
export function GroupPage() {
  const { group } = useParams({ from: '/member/admin/groups/$group' });
  return (
    <AdminFrame tab={group} title={group}>
      <Body key={group} name={group} />
    </AdminFrame>
  );
}

function Body({ name }: { name: string }) {
  const { data, error } = useQuery(groupQuery(name));
  if (error instanceof ApiError && error.status === 404)
    return (
      <Paper className={classes.box}>
        <p className={classes.line}>There is no group {name} in the directory.</p>
        <Button component={Link} to="/admin/groups" variant="default">
          Show all groups
        </Button>
      </Paper>
    );
  return (
    <div className={classes.page}>
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {!data && !error && <Skeleton height={300} radius="lg" aria-label="Loading" />}
      {data && <Whole group={data} />}
    </div>
  );
}

function Whole({ group }: { group: WholeGroup }) {
  const admin = mayChange(useMe());
  const why = group.capabilities.missing.groups;
  const changing = admin && can(group.capabilities, 'groups');
  return (
    <>
      <div className={classes.head}>
        <span className={classes.line}>
          {sizeText(group.member_count)}
          {group.gid !== null && `, number ${group.gid}`}. {meaning(group)}
        </span>
        <nav className={classes.links} aria-label={`More about ${group.name}`}>
          <Link to="/admin/limits" search={{ group: group.name }}>
            Limits
          </Link>
          <Link to="/admin/usage" search={{ by: 'group', q: group.name }}>
            Usage
          </Link>
          <Link to="/admin/audit" search={{ target: group.name }}>
            Audit
          </Link>
        </nav>
      </div>
      {admin && why && (
        <p className={classes.quiet}>In this directory the portal can't change groups. {why}</p>
      )}
      <div className={classes.sides}>
        <MembersBox group={group} changing={changing} />
        <div className={classes.page}>
          <Leaders group={group} changing={admin} />
          {group.groups.length > 0 && (
            <Paper component="section" className={classes.box} aria-labelledby="within">
              <h2 className={classes.heading} id="within">
                Groups within it
              </h2>
              <Chips label={`Groups within ${group.name}`} names={group.groups} to="group" />
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
  const { busy, change, withPassword } = useChange();
  const own = group.members.filter((member) => !member.inherited).map(({ username }) => username);
  return (
    <Paper component="section" className={classes.box} aria-labelledby="members">
      <h2 className={classes.heading} id="members">
        Members
      </h2>
      {changing && (
        <div className={classes.wide}>
          <PersonPick
            label="Add a person"
            placeholder="Type to find someone"
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

function Leaders({ group, changing }: Part) {
  const { busy, change, withPassword } = useChange();
  return (
    <Paper component="section" className={classes.box} aria-labelledby="leaders">
      <h2 className={classes.heading} id="leaders">
        Leaders
      </h2>
      <p className={classes.quiet}>
        They see what the group's members use and set their limits; they change nothing else.
      </p>
      {group.leaders.length > 0 && (
        <Chips
          label={`Leaders of ${group.name}`}
          names={group.leaders}
          to="person"
          onRemove={
            changing
              ? (username) => withPassword(() => setLeader(group.name, username, false))
              : undefined
          }
          removeLabel={(username) => `${username} leads ${group.name} no longer`}
        />
      )}
      {changing && (
        <div className={classes.wide}>
          <PersonPick
            label="Make someone a leader"
            placeholder="Type to find someone"
            without={group.leaders}
            disabled={busy}
            onPick={(username) => change(() => setLeader(group.name, username, true))}
          />
        </div>
      )}
    </Paper>
  );
}

function Deletion({ group }: { group: WholeGroup }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const remove = async (): Promise<void> => {
    await deleteGroup(group.name);
    await navigate({ to: '/admin/groups' });
  };
  return (
    <>
      <div>
        <Button variant="default" c="var(--bad)" onClick={() => setAsking(true)}>
          Delete the group…
        </Button>
      </div>
      <ConfirmDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={`Delete the group ${group.name}?`}
        act={remove}
        button="Delete the group"
        danger
      >
        <Text size="sm">
          {group.members.length === 0
            ? 'Nobody is in it.'
            : `Its ${sizeText(group.members.length)} ${group.members.length === 1 ? 'stays' : 'stay'} in the directory and ${group.members.length === 1 ? 'loses' : 'lose'} what the group brought.`}{' '}
          Files that belong to it keep its number.
        </Text>
      </ConfirmDialog>
    </>
  );
}
