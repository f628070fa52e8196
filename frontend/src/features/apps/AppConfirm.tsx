import { t } from '@lingui/core/macro';
import { Text } from '@mantine/core';
import type { App } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import type { AppCommand } from './apps';

interface Props {
  app: App;
  command: AppCommand;
  opened: boolean;
  onClose: () => void;
  act: () => Promise<unknown>;
}

/** Asks before a running app is stopped or restarted. */
export function AppConfirm({ app, command, opened, onClose, act }: Props) {
  const title = translateExact(app.title);
  const stop = command === 'stop';
  return (
    <ConfirmDialog
      title={stop ? t`Stop the app “${title}”?` : t`Restart the app “${title}”?`}
      opened={opened}
      danger
      size="sm"
      onClose={onClose}
      act={act}
      button={stop ? t`Stop it` : t`Restart it`}
      keep={t`Keep it running`}
    >
      <Text size="sm">
        {t`Its processes end, and what isn't saved in it is lost. Your files stay.`}
      </Text>
    </ConfirmDialog>
  );
}
