import { Button, Group, Modal, Stack } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { sentence } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { Cancelled } from './complain';
import { Notice } from './Notice';

interface Props {
  title: string;
  opened: boolean;
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
  size?: string;
}

/** Asks before an act that can't be taken back easily, and says here if it failed. */
export function ConfirmDialog({ title, opened, onClose, size = 'md', ...rest }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Body onClose={onClose} {...rest} />
    </Modal>
  );
}

type BodyProps = Omit<Props, 'title' | 'opened' | 'size'>;

function Body({ onClose, act, button, children, danger, disabled, keep = 'Cancel' }: BodyProps) {
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
      if (!(error instanceof Cancelled)) setRefusal(sentence(error));
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
