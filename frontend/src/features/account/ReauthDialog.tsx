import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { errorMessage, wrongPassword } from '@/api/problem';
import { useMe } from '@/lib/useMe';

interface Props {
  opened: boolean;
  onGiven: () => void;
  onCancel: () => void;
}

/** Above the dialog that requires the password, whichever of the two was rendered first. */
const DIALOG_Z_INDEX = 250;

export function ReauthDialog({ opened, onGiven, onCancel }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onCancel}
      title={t`Confirm your password`}
      size="sm"
      zIndex={DIALOG_Z_INDEX}
    >
      <ReauthForm onGiven={onGiven} onCancel={onCancel} />
    </Modal>
  );
}

function ReauthForm({ onGiven, onCancel }: Omit<Props, 'opened'>) {
  const me = useMe();
  const [password, setPassword] = useState('');
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    if (password === '') return setError(t`Enter your password.`);
    setBusy(true);
    try {
      await unwrap(api.POST('/api/v1/reauth', { body: { password } }));
      onGiven();
    } catch (reason) {
      setError(wrongPassword(reason) ?? errorMessage(reason));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <Text size="sm">
          <Trans>This action needs your password again, even after a login.</Trans>
        </Text>
        <input
          type="text"
          name="username"
          value={me.username}
          autoComplete="username"
          hidden
          readOnly
        />
        <PasswordInput
          label={t`Password`}
          autoComplete="current-password"
          data-autofocus
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': t`Show or hide the password` }}
          error={error}
          aria-invalid={error !== null}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={busy}>
            <Trans>Continue</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
