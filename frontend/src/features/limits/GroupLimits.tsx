import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Skeleton, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { GroupMember, GroupLimits as Limits } from '@/api/types';
import { translate } from '@/i18n/translate';
import { DialogShell } from '@/ui/ConfirmDialog';
import { CellNote, type Column, DataTable } from '@/ui/DataTable';
import { TryAgain } from '@/ui/TryAgain';
import { LimitForm } from './LimitForm';
import classes from './Limits.module.css';
import { ceilingText, groupTotalValues, limitText, managerMaySet, usageText } from './labels';
import { groupLimitsQuery, saveMemberLimit } from './queries';
import type { Values } from './types';
import { UsageBars } from './UsageBars';

interface Props {
  group: string;
  /** whether limits can be changed: not by viewers */
  change?: boolean;
}

/** A group's limits and usage, with the limits of its members, for group managers. */
export function GroupLimits({ group, change = true }: Props) {
  const { data, error, refetch } = useQuery(groupLimitsQuery(group));
  const [editing, setEditing] = useState<string | null>(null);
  if (error && !data)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={260} radius="lg" aria-label={t`Loading`} />;
  const member = data.members.find(({ username }) => username === editing);
  const name = member?.username ?? '';
  const close = (): void => setEditing(null);
  return (
    <div className={classes.sections}>
      <GroupTotalBox limits={data} />
      <Members limits={data} onEdit={change ? setEditing : undefined} />
      <DialogShell
        opened={member !== undefined}
        onClose={close}
        title={t`Limits of ${name}`}
        size="lg"
      >
        {member && (
          <MemberForm key={member.username} limits={data} member={member} onDone={close} />
        )}
      </DialogShell>
    </div>
  );
}

function GroupTotalBox({ limits }: { limits: Limits }) {
  const { together: total } = limits;
  const perMember = limits.member ? limitText(limits.member) : '';
  return (
    <Paper component="section" className={classes.card} aria-labelledby="group-total">
      <Title order={2} size="h4" id="group-total" mb="sm">
        <Trans>All members together, now</Trans>
      </Title>
      <UsageBars effective={total ? groupTotalValues(total) : {}} use={limits.use} />
      <p className={classes.perMember}>
        {perMember === '' ? (
          <Trans>Each member: the default limit.</Trans>
        ) : (
          <Trans>Each member: {perMember}.</Trans>
        )}
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
        <Trans>Members</Trans>
      </Title>
      <DataTable
        label={t`Members`}
        columns={COLUMNS}
        rows={limits.members}
        rowKey={({ username }) => username}
        actions={onEdit && (({ username }) => <EditButton username={username} onEdit={onEdit} />)}
        empty={<Trans>No member of this group has used the portal yet.</Trans>}
      />
    </section>
  );
}

const COLUMNS: Column<GroupMember>[] = [
  {
    id: 'member',
    header: <Trans context="limits">Member</Trans>,
    rowHeader: true,
    cell: ({ username, display_name: name }) => (
      <>
        {name || username}
        <CellNote>{username}</CellNote>
      </>
    ),
  },
  { id: 'usage', header: t`Current usage`, cell: ({ use }) => usageText(use), narrowLabeled: true },
  {
    id: 'limit',
    header: t`Personal limit`,
    cell: ({ limit }) => (limit ? <OwnLimit limit={limit} /> : <Trans>none</Trans>),
    narrowLabeled: true,
  },
];

function OwnLimit({ limit }: { limit: NonNullable<GroupMember['limit']> }) {
  const setter = limit.updated_by;
  return (
    <>
      {limitText(limit) || t`none`}
      <CellNote>
        <Trans>by {setter}</Trans>
      </CellNote>
    </>
  );
}

function EditButton({ username, onEdit }: { username: string; onEdit: (name: string) => void }) {
  return (
    <Button
      variant="default"
      size="compact-sm"
      onClick={() => onEdit(username)}
      aria-label={t`Set the limits of ${username}`}
    >
      <Trans>Set…</Trans>
    </Button>
  );
}

interface FormProps {
  limits: Limits;
  member: GroupMember;
  onDone: () => void;
}

function MemberForm({ limits, member, onDone }: FormProps) {
  const { username } = member;
  const save = async (values: Values, version: number | null): Promise<void> => {
    const { slurm } = await saveMemberLimit(limits.group, username, values, version);
    const message = translate(slurm.message);
    notifications.show({
      message:
        slurm.state === 'refused'
          ? t`Saved. ${message}`
          : t`Saved. It applies to ${username} from now on.`,
    });
    onDone();
  };
  return (
    <>
      <Text size="sm" mb="md">
        <Trans>
          If empty, the limit for each member of the group applies. A value can't exceed the limit
          of the group.
        </Trans>
      </Text>
      <LimitForm
        source={{ scope: 'user', name: username }}
        current={member.limit}
        hint={(field) => ceilingText(field, limits.ceiling)}
        isOffered={(field) => managerMaySet(field, limits.ceiling)}
        onSave={save}
        onCancel={onDone}
      />
    </>
  );
}
