import { t } from '@lingui/core/macro';
import { notifications } from '@mantine/notifications';
import { DialogShell } from '@/ui/ConfirmDialog';
import { PasswordForm } from './PasswordForm';

interface Props {
  opened: boolean;
  onClose: () => void;
}

export function PasswordDialog({ opened, onClose }: Props) {
  const done = (): void => {
    onClose();
    notifications.show({
      message: t`Your password is changed. Use the new one everywhere you log in with this account.`,
      role: 'status',
    });
  };
  return (
    <DialogShell opened={opened} onClose={onClose} title={t`Change your password`} size="sm">
      <PasswordForm onDone={done} onCancel={onClose} />
    </DialogShell>
  );
}
