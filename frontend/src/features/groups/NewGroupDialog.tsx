import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { TextInput } from '@mantine/core';
import { UserPick } from '@/features/directory/UserPick';
import { Chips } from '@/ui/Chips';
import { DialogShell } from '@/ui/ConfirmDialog';
import { RecordForm } from '@/ui/RecordForm';
import { type GroupValues, useNewGroup } from './useNewGroup';

interface Props {
  opened: boolean;
  onClose: () => void;
}

export function NewGroupDialog({ opened, onClose }: Props) {
  return (
    <DialogShell opened={opened} onClose={onClose} title={t`New group`}>
      <NewGroupForm onClose={onClose} />
    </DialogShell>
  );
}

function NewGroupForm({ onClose }: { onClose: () => void }) {
  const form = useNewGroup(onClose);
  return (
    <RecordForm form={form} button={<Trans>Create group</Trans>} onCancel={onClose}>
      <TextInput
        label={t`Name`}
        {...form.text('name')}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        data-autofocus
      />
      <TextInput
        label={t`Description, optional`}
        {...form.text('description')}
        autoComplete="off"
      />
      <TextInput
        label={t`GID`}
        description={t`Leave empty to use the next free GID.`}
        inputWrapperOrder={['label', 'input', 'error', 'description']}
        inputMode="numeric"
        {...form.text('gid')}
        autoComplete="off"
      />
      <ChosenMembers
        members={form.values.members}
        error={form.error('members')}
        onChange={(members) => form.set({ members })}
      />
    </RecordForm>
  );
}

interface MembersProps {
  members: GroupValues['members'];
  error: string | undefined;
  onChange: (members: string[]) => void;
}

function ChosenMembers({ members, error, onChange }: MembersProps) {
  return (
    <>
      <UserPick
        label={t`Members`}
        placeholder={t`Type to find a user`}
        without={members}
        error={error}
        onPick={(username) => onChange([...members, username])}
      />
      {members.length > 0 && (
        <Chips
          label={t`Selected members`}
          names={members}
          onRemove={async (username) => onChange(members.filter((member) => member !== username))}
          removeLabel={(username) => t`Remove ${username}`}
        />
      )}
    </>
  );
}
