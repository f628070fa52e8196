import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { resetPassword } from './actions';
import { PasswordBox } from './PasswordBox';
import type { OneTimePassword, User } from './types';

interface Props {
  user: User;
  opened: boolean;
  onClose: () => void;
}

/** The dialog that resets a user's password, and shows the new one-time password once. */
export function PasswordReset({ user, opened, onClose }: Props) {
  const { username } = user;
  const [password, setPassword] = useState<OneTimePassword | null>(null);
  const close = (): void => {
    onClose();
    setPassword(null);
  };
  return (
    <DialogShell
      // shown even if closed before the response: it cannot be shown again
      opened={opened || password !== null}
      onClose={close}
      title={password ? t`One-time password of ${username}` : t`Reset the password of ${username}?`}
      closeOnEscape={password === null}
    >
      {password ? (
        <Stack>
          <PasswordBox username={username} password={password} />
          <Group justify="flex-end">
            <Button onClick={close}>
              <Trans>Done</Trans>
            </Button>
          </Group>
        </Stack>
      ) : (
        <Question user={user} onCreated={setPassword} onClose={onClose} />
      )}
    </DialogShell>
  );
}

interface QuestionProps {
  user: User;
  onCreated: (password: OneTimePassword) => void;
  onClose: () => void;
}

/** The question whether to reset the password; `onCreated` gets the new one. */
function Question({ user, onCreated, onClose }: QuestionProps) {
  const { username } = user;
  return (
    <ConfirmForm
      onClose={onClose}
      act={async () => onCreated(await resetPassword(username))}
      button={t`Create a one-time password`}
    >
      <Text size="sm">
        <Trans>
          The portal creates a one-time password and shows it to you once. The current password
          stops working, and {username} is logged out of the portal everywhere; running sessions and
          jobs continue.
        </Trans>
      </Text>
      {user.locked && (
        <Text size="sm">
          <Trans>The account is also locked; a new password alone doesn't unlock it.</Trans>
        </Text>
      )}
    </ConfirmForm>
  );
}
