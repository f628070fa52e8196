import { t } from '@lingui/core/macro';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, sentence } from '@/api/problem';
import { joinSentences } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { useWithPassword } from '@/lib/reauth';
import { focusPageIfLost } from './focus';
import { Notice } from './Notice';
import { Cancelled } from './showError';

interface FormProps {
  onClose: () => void;
  /** what it does when it is confirmed; the dialog closes when that is done and stays when it fails */
  act: () => Promise<unknown>;
  button: string;
  children: ReactNode;
  danger?: boolean;
  /** something is still missing */
  disabled?: boolean;
  /** for the button that changes nothing */
  keep?: string;
}

interface ShellProps {
  title: string;
  opened: boolean;
  onClose: () => void;
  children: ReactNode;
  size?: string;
}

/** Asks before an act that can't be taken back easily, and says here if it failed. */
export function ConfirmDialog({
  title,
  opened,
  size = 'md',
  ...form
}: FormProps & Omit<ShellProps, 'children'>) {
  return (
    <DialogShell title={title} opened={opened} onClose={form.onClose} size={size}>
      <ConfirmForm {...form} />
    </DialogShell>
  );
}

/** A dialog without content. Its content is reset each time it opens. */
export function DialogShell({ title, opened, onClose, children, size = 'md' }: ShellProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      onExitTransitionEnd={focusPageIfLost}
    >
      {children}
    </Modal>
  );
}

/** The inside of a question, for those that ask for more than a yes. */
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
  const [refusal, setRefusal] = useState<string | null>(null);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy || disabled) return;
    setBusy(true);
    setRefusal(null);
    try {
      await withPassword(act);
      onClose();
    } catch (error) {
      if (!(error instanceof Cancelled)) setRefusal(whole(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        {children}
        {refusal && <Notice tone="error">{refusal}</Notice>}
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

/** A dialog shows the errors of all fields together. */
function whole(error: unknown): string {
  const fields = error instanceof ApiError ? error.fields : [];
  return fields.length === 0
    ? sentence(error)
    : joinSentences(fields.map(({ message }) => translate(message)));
}
