import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import { useWithPassword } from '@/lib/reauth';
import { Notice } from '@/ui/Notice';
import { Cancelled } from '@/ui/showError';
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
    <Modal
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
        <Question user={user} onMade={setPassword} onCancel={close} />
      )}
    </Modal>
  );
}

interface QuestionProps {
  user: User;
  onMade: (password: OneTimePassword) => void;
  onCancel: () => void;
}

function Question({ user, onMade, onCancel }: QuestionProps) {
  const withPassword = useWithPassword();
  const { username } = user;
  const [busy, setBusy] = useState(false);
  const [message, setMessage] = useState<string | null>(null);
  const reset = async (): Promise<void> => {
    setBusy(true);
    setMessage(null);
    try {
      onMade(await withPassword(() => resetPassword(username)));
    } catch (error) {
      if (!(error instanceof Cancelled)) setMessage(errorMessage(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
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
      {message && <Notice tone="error">{message}</Notice>}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          <Trans>Cancel</Trans>
        </Button>
        <Button loading={busy} onClick={() => void reset()}>
          <Trans>Make a one-time password</Trans>
        </Button>
      </Group>
    </Stack>
  );
}
