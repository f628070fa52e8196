import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { can } from '@/features/directory/capabilities';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { deleteUser } from './actions';
import { Choices } from './Choices';
import { type JobsPolicy, JobsPolicyChoice } from './JobsPolicyChoice';
import type { User } from './types';

interface Props {
  user: User;
  opened: boolean;
  onClose: () => void;
}

type Files = 'keep' | 'archive' | 'delete';

/** Return the choices for the user's files, with reasons for disabled ones. */
function filesChoices(user: User) {
  const choice = (value: 'archive' | 'delete', title: string, about: string) => {
    const setting = `home_${value}_command`;
    const missing = !user.home_tasks.includes(value)
      ? t`The portal has no command for this. To add one, configure the setting ${setting}.`
      : user.home === null
        ? t`The portal doesn't know where they are.`
        : null;
    return { value, title, about: missing ?? about, disabled: missing !== null };
  };
  return [
    {
      value: 'keep',
      title: t`Keep the files`,
      about: t`The home directory stays as it is. Its UID then belongs to no user.`,
    },
    choice('archive', t`Archive them`, t`The site's own command archives the home directory.`),
    choice(
      'delete',
      t`Delete the files`,
      t`The site's own command removes the home directory. This can't be undone.`,
    ),
  ] as const;
}

/** The dialog that deletes a user: asks what to do with files and jobs, and for the username as
 * confirmation. */
export function DeleteDialog({ user, opened, onClose }: Props) {
  const { username } = user;
  return (
    <DialogShell title={t`Delete ${username}?`} opened={opened} onClose={onClose} size="lg">
      <Body user={user} onClose={onClose} />
    </DialogShell>
  );
}

function Body({ user, onClose }: Omit<Props, 'opened'>) {
  const [files, setFiles] = useState<Files>('keep');
  const [jobs, setJobs] = useState<JobsPolicy>('cancel');
  const [confirm, setConfirm] = useState('');
  const { username } = user;
  const ending = files === 'keep' ? jobs : 'cancel';
  const here = user.in_directory && can(user.capabilities, 'delete');
  return (
    <ConfirmForm
      onClose={onClose}
      act={() => deleteUser(username, { files, jobs: ending, confirm: confirm.trim() })}
      button={t`Delete`}
      danger
      disabled={confirm.trim() !== username}
    >
      <Text size="sm">
        {here ? (
          <Trans>
            All access of {username} ends immediately, as when an account is disabled; then the
            entry is removed from the directory and all groups. Their actions remain in the audit
            log. Disabling can be undone, deleting can't.
          </Trans>
        ) : (
          <Trans>
            All access of {username} ends immediately, as when an account is disabled; then the
            account is removed from the portal. The directory is not changed. Their actions remain
            in the audit log. Disabling can be undone, deleting can't.
          </Trans>
        )}
      </Text>
      <Choices label={t`Files`} value={files} onChange={setFiles} choices={filesChoices(user)} />
      {files === 'keep' ? (
        <JobsPolicyChoice value={jobs} onChange={setJobs} jobs={user.live.jobs} />
      ) : (
        <Text size="sm">
          <Trans>Batch jobs are cancelled: they would go on without their files.</Trans>
        </Text>
      )}
      <TextInput
        label={t`To be sure, type ${username}`}
        value={confirm}
        onChange={(event) => setConfirm(event.currentTarget.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
    </ConfirmForm>
  );
}
