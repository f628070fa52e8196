import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { NumberInput, Textarea, TextInput } from '@mantine/core';
import type { App, AppInput } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { DialogShell } from '@/ui/ConfirmDialog';
import { RecordForm } from '@/ui/RecordForm';
import { useRecordForm } from '@/ui/useRecordForm';
import { startApp } from './apps';

const FIRST_PORT = 8080;

interface Props {
  id: string;
  app: App;
  opened: boolean;
  onClose: () => void;
  onStarted: (app: App) => unknown;
}

/** The dialog that asks for the file or the command of an app, and starts it. */
export function AppDialog({ id, app, opened, onClose, onStarted }: Props) {
  return (
    <DialogShell
      opened={opened}
      onClose={onClose}
      title={t`Start an app: ${{ title: translateExact(app.title) }}`}
    >
      <AppForm
        id={id}
        app={app}
        onClose={onClose}
        onStarted={(started) => {
          onStarted(started);
          onClose();
        }}
      />
    </DialogShell>
  );
}

function AppForm({ id, app, onClose, onStarted }: Omit<Props, 'opened'>) {
  const form = useRecordForm({
    initial: () => ({
      file: app.file ?? '',
      command: app.command ?? '',
      port: app.port ?? FIRST_PORT,
    }),
    fields: ['file', 'command', 'port'],
    save: ({ file, command, port }) => {
      const body: AppInput = app.input === 'file' ? { file } : { command, port };
      return startApp(id, app.name, body);
    },
    saved: onStarted,
  });
  return (
    <RecordForm form={form} button={<Trans>Start</Trans>} onCancel={onClose}>
      {app.input === 'file' ? (
        <TextInput
          label={t`File`}
          description={t`Its path in your home directory, for example ${{ example: `apps/demo${app.extensions[0] ?? ''}` }}`}
          maxLength={4000}
          data-autofocus
          {...form.text('file')}
        />
      ) : (
        <>
          <Textarea
            label={t`Command`}
            description={t`It runs in the session's environment, in your home directory. Your program has to listen on 127.0.0.1.`}
            maxLength={4000}
            autosize
            minRows={2}
            data-autofocus
            {...form.text('command')}
          />
          <NumberInput
            label={t`Port`}
            value={form.values.port}
            onChange={(port) => form.set({ port: Number(port) })}
            allowDecimal={false}
            error={form.error('port')}
          />
        </>
      )}
    </RecordForm>
  );
}
