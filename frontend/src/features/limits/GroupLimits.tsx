import { Button, Modal, Paper, Skeleton, Table, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import type { GroupMember, GroupLimits as Limits } from '@/api/types';
import { Notice } from '@/ui/Notice';
import { LimitForm } from './LimitForm';
import classes from './Limits.module.css';
import { groupLimitsQuery, saveMemberLimit } from './queries';
import type { Values } from './shapes';
import { UseBars } from './UseBars';
import { ceilingText, leaderMaySet, said, sharedCounting, useText } from './words';

interface Props {
  group: string;
  /** a viewer looks only; leaders and administrators set */
  change?: boolean;
}

/** A group for its leaders: what it may use and does, and the limits of its members. */
export function GroupLimits({ group, change = true }: Props) {
  const { data, error } = useQuery(groupLimitsQuery(group));
  const [editing, setEditing] = useState<string | null>(null);
  if (error && !data) return <Notice tone="error">{sentence(error)}</Notice>;
  if (!data) return <Skeleton height={260} radius="lg" aria-label="Loading" />;
  const member = data.people.find(({ username }) => username === editing);
  const close = (): void => setEditing(null);
  return (
    <div className={classes.sections}>
      <Whole limits={data} />
      <Members limits={data} onEdit={change ? setEditing : undefined} />
      <Modal
        opened={member !== undefined}
        onClose={close}
        title={`Limits of ${member?.username ?? ''}`}
        size="lg"
        closeOnClickOutside={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {member && (
          <MemberForm key={member.username} limits={data} member={member} onDone={close} />
        )}
      </Modal>
    </div>
  );
}

function Whole({ limits }: { limits: Limits }) {
  return (
    <Paper component="section" className={classes.card} aria-labelledby="together">
      <Title order={2} size="h4" id="together" mb="sm">
        All members together, now
      </Title>
      <UseBars
        effective={limits.together ? sharedCounting(limits.together) : {}}
        use={limits.use}
      />
      <p className={classes.each}>
        Each member: {limits.member ? said(limits.member).join(', ') : 'what counts by default'}.
      </p>
    </Paper>
  );
}

interface MembersProps {
  limits: Limits;
  onEdit: ((username: string) => void) | undefined;
}

function Members({ limits, onEdit }: MembersProps) {
  return (
    <section aria-labelledby="members-limits">
      <Title order={2} size="h4" id="members-limits" mb="sm">
        Members
      </Title>
      {limits.people.length === 0 ? (
        <Paper className={classes.none}>Nobody of this group has used the portal yet.</Paper>
      ) : (
        <Paper className={classes.table}>
          <Table
            className={classes.members}
            verticalSpacing={8}
            horizontalSpacing="md"
            aria-labelledby="members-limits"
          >
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Who</Table.Th>
                <Table.Th>Uses now</Table.Th>
                <Table.Th>Own limit</Table.Th>
                {onEdit && <Table.Th aria-label="Actions" />}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {limits.people.map((member) => (
                <Member key={member.username} member={member} onEdit={onEdit} />
              ))}
            </Table.Tbody>
          </Table>
        </Paper>
      )}
    </section>
  );
}

interface MemberProps {
  member: GroupMember;
  onEdit: MembersProps['onEdit'];
}

function Member({ member, onEdit }: MemberProps) {
  return (
    <Table.Tr>
      <Table.Td className={classes.whose}>
        {member.display_name || member.username}
        <div className={classes.quiet}>{member.username}</div>
      </Table.Td>
      <Table.Td data-label="Uses now">{useText(member.use)}</Table.Td>
      <Table.Td data-label="Own limit">
        {member.limit ? (
          <>
            {said(member.limit).join(', ') || 'none'}
            <div className={classes.origin}>by {member.limit.updated_by}</div>
          </>
        ) : (
          <span className={classes.quiet}>none</span>
        )}
      </Table.Td>
      {onEdit && (
        <Table.Td ta="right">
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => onEdit(member.username)}
            aria-label={`Set the limits of ${member.username}`}
          >
            Set…
          </Button>
        </Table.Td>
      )}
    </Table.Tr>
  );
}

interface FormProps {
  limits: Limits;
  member: GroupMember;
  onDone: () => void;
}

function MemberForm({ limits, member, onDone }: FormProps) {
  const save = async (values: Values, version: number | null): Promise<void> => {
    const { slurm } = await saveMemberLimit(limits.group, member.username, values, version);
    notifications.show({
      message:
        slurm.state === 'refused'
          ? `Saved. ${slurm.message}`
          : `Saved. It counts for ${member.username} from now on.`,
    });
    onDone();
  };
  return (
    <>
      <Text size="sm" mb="md">
        An empty field is what counts for each member of the group. No more can be given than the
        group has.
      </Text>
      <LimitForm
        whose={{ scope: 'person', name: member.username }}
        before={member.limit}
        hint={(field) => ceilingText(field, limits.ceiling)}
        offered={(field) => leaderMaySet(field, limits.ceiling)}
        onSave={save}
        onCancel={onDone}
      />
    </>
  );
}
