import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { sentence } from '@/api/problem';
import { UserPick } from '@/features/directory/UserPick';
import { Chips } from '@/ui/Chips';
import { Notice } from '@/ui/Notice';
import { RestartableForm, RestoredNotice } from '@/ui/RestoredForm';
import { type Draft, FIELDS, useNewGroup } from './useNewGroup';

interface Props {
  opened: boolean;
  onClose: () => void;
}

export function NewGroupDialog({ opened, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title={t`New group`}>
      <RestartableForm>
        {(startOver) => <Form onClose={onClose} onStartOver={startOver} />}
      </RestartableForm>
    </Modal>
  );
}

interface FormProps {
  onClose: () => void;
  onStartOver: () => void;
}

function Form({ onClose, onStartOver }: FormProps) {
  const { draft, set, kept, saving, done } = useNewGroup(onClose);
  const { form, busy, error: problem, submit } = saving;
  const elsewhere = saving.elsewhere(FIELDS);
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        <RestoredNotice draft={kept} onStartOver={onStartOver} />
        {elsewhere !== null && <Notice tone="error">{sentence(elsewhere)}</Notice>}
        <TextInput
          label={t`Name`}
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          error={problem('name')}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label={t`Description, optional`}
          value={draft.description}
          onChange={(event) => set({ description: event.currentTarget.value })}
          error={problem('description')}
          autoComplete="off"
        />
        <TextInput
          label={t`Number (gid)`}
          description={t`Leave empty to use the next free number.`}
          inputWrapperOrder={['label', 'input', 'error', 'description']}
          inputMode="numeric"
          value={draft.gid}
          onChange={(event) => set({ gid: event.currentTarget.value })}
          error={problem('gid')}
          autoComplete="off"
        />
        <ChosenMembers
          members={draft.members}
          problem={problem('members')}
          onChange={(members) => set({ members })}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={done}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={busy}>
            <Trans>Create group</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface MembersProps {
  members: Draft['members'];
  problem: string | undefined;
  onChange: (members: string[]) => void;
}

function ChosenMembers({ members, problem, onChange }: MembersProps) {
  return (
    <>
      <UserPick
        label={t`Members`}
        placeholder={t`Type to find a user`}
        without={members}
        error={problem}
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
