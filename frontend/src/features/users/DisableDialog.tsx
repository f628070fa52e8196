import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { can } from '@/features/directory/capabilities';
import { translate } from '@/i18n/translate';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { disableUser } from './actions';
import { type JobsPolicy, JobsPolicyChoice } from './JobsPolicyChoice';
import type { User } from './types';

interface Props {
  user: User;
  opened: boolean;
  onClose: () => void;
}

const MAX_REASON_LENGTH = 500;

/** The dialog that disables a user: asks for the reason and the jobs policy, and shows the
 * immediate effects. */
export function DisableDialog({ user, opened, onClose }: Props) {
  const { username } = user;
  return (
    <DialogShell title={t`Disable ${username}?`} opened={opened} onClose={onClose}>
      <Body user={user} onClose={onClose} />
    </DialogShell>
  );
}

function Body({ user, onClose }: Omit<Props, 'opened'>) {
  const [reasonText, setReasonText] = useState('');
  const [jobs, setJobs] = useState<JobsPolicy>('cancel');
  const { username } = user;
  const { sessions } = user.live;
  const directory = can(user.capabilities, 'disable');
  const reason = translate(user.capabilities.missing.disable);
  return (
    <ConfirmForm
      onClose={onClose}
      act={() => disableUser(username, { why: reasonText.trim(), jobs })}
      button={t`Disable`}
      danger
    >
      <Text size="sm">
        {directory ? (
          <Trans>
            At once: nothing in the portal works for {username} any more,{' '}
            <Plural
              value={sessions}
              _0="all open notebooks and TensorBoards close"
              one="# session and all open notebooks and TensorBoards close"
              other="# sessions and all open notebooks and TensorBoards close"
            />
            , access tokens are refused, and no one can log in with this name, here or by ssh. Files
            stay as they are. You can enable the account again at any time.
          </Trans>
        ) : (
          <Trans>
            At once: nothing in the portal works for {username} any more,{' '}
            <Plural
              value={sessions}
              _0="all open notebooks and TensorBoards close"
              one="# session and all open notebooks and TensorBoards close"
              other="# sessions and all open notebooks and TensorBoards close"
            />
            , access tokens are refused, and no one can log in with this name here. Files stay as
            they are. You can enable the account again at any time.
          </Trans>
        )}
      </Text>
      {!directory && (
        <Text size="sm" c="dimmed">
          <Trans>The directory itself is not changed: {reason}</Trans>
        </Text>
      )}
      <JobsPolicyChoice value={jobs} onChange={setJobs} jobs={user.live.jobs} />
      <Textarea
        label={t`Reason`}
        description={t`Administrators and viewers see it; it stays in the audit log.`}
        value={reasonText}
        onChange={(event) => setReasonText(event.currentTarget.value)}
        maxLength={MAX_REASON_LENGTH}
        rows={2}
        data-autofocus
      />
    </ConfirmForm>
  );
}
