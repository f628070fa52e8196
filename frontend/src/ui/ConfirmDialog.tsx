import { t } from '@lingui/core/macro';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import { joinSentences } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { useWithPassword } from '@/lib/reauth';
import { focusPageIfLost } from './focus';
import { Notice } from './Notice';
import { Cancelled } from './showError';

interface FormProps {
  onClose: () => void;
  /** the action to confirm; the dialog closes on success and stays open on failure */
  act: () => Promise<unknown>;
  button: string;
  children: ReactNode;
  danger?: boolean;
  /** whether a required field is missing */
  disabled?: boolean;
  /** the label of the cancel button */
  keep?: string;
}

interface ShellProps {
  title: string;
  opened: boolean;
  onClose: () => void;
  children: ReactNode;
  size?: string;
  /** false while the content would be lost by a key pressed by mistake */
  closeOnEscape?: boolean;
}

/** A dialog that asks for confirmation of an action, and shows its error. */
export function ConfirmDialog({
  title,
  opened,
  size = 'md',
  ...form
}: FormProps & Omit<ShellProps, 'children' | 'closeOnEscape'>) {
  return (
    <DialogShell title={title} opened={opened} onClose={form.onClose} size={size}>
      <ConfirmForm {...form} />
    </DialogShell>
  );
}

/** The frame of dialogs with forms of their own. Its content is reset each time it opens. */
export function DialogShell({
  title,
  opened,
  onClose,
  children,
  size = 'md',
  closeOnEscape = true,
}: ShellProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      closeOnEscape={closeOnEscape}
      onExitTransitionEnd={focusPageIfLost}
    >
      {children}
    </Modal>
  );
}

/** The content of a confirmation, for dialogs with more fields. */
export function ConfirmForm({
  onClose,
  act,
  button,
  children,
  danger,
  disabled,
  keep = t`Cancel`,
}: FormProps) {
  const withPassword = useWithPassword();
  const [busy, setBusy] = useState(false);
  const [message, setMessage] = useState<string | null>(null);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy || disabled) return;
    setBusy(true);
    setMessage(null);
    try {
      await withPassword(act);
      onClose();
    } catch (error) {
      if (!(error instanceof Cancelled)) setMessage(fullText(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        {children}
        {message && <Notice tone="error">{message}</Notice>}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {keep}
          </Button>
          <Button
            type="submit"
            loading={busy}
            disabled={disabled ?? false}
            {...(danger ? { color: 'red.9' } : {})}
          >
            {button}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Return all fields' errors in one text, for a dialog. */
function fullText(error: unknown): string {
  const fields = error instanceof ApiError ? error.fields : [];
  return fields.length === 0
    ? errorMessage(error)
    : joinSentences(fields.map(({ message }) => translate(message)));
}
