import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { sentence } from '@/api/problem';
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

/** Gives someone a new one-time password, and shows it this once. */
export function PasswordReset({ user, opened, onClose }: Props) {
  const { username } = user;
  const [made, setMade] = useState<OneTimePassword | null>(null);
  const close = (): void => {
    onClose();
    setMade(null);
  };
  return (
    <Modal
      // closed before the answer came: it is shown all the same, for it won't be again
      opened={opened || made !== null}
      onClose={close}
      title={made ? t`One-time password of ${username}` : t`Reset the password of ${username}?`}
      closeOnEscape={made === null}
    >
      {made ? (
        <Stack>
          <PasswordBox username={username} made={made} />
          <Group justify="flex-end">
            <Button onClick={close}>
              <Trans>I have copied it</Trans>
            </Button>
          </Group>
        </Stack>
      ) : (
        <Question user={user} onMade={setMade} onCancel={close} />
      )}
    </Modal>
  );
}

interface QuestionProps {
  user: User;
  onMade: (made: OneTimePassword) => void;
  onCancel: () => void;
}

function Question({ user, onMade, onCancel }: QuestionProps) {
  const withPassword = useWithPassword();
  const { username } = user;
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const reset = async (): Promise<void> => {
    setBusy(true);
    setRefusal(null);
    try {
      onMade(await withPassword(() => resetPassword(username)));
    } catch (error) {
      if (!(error instanceof Cancelled)) setRefusal(sentence(error));
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
      {refusal && <Notice tone="error">{refusal}</Notice>}
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
