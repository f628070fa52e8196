import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Text } from '@mantine/core';
import { DialogShell } from '@/ui/ConfirmDialog';

interface Props {
  name: string;
  opened: boolean;
  busy: boolean;
  onStop: () => void;
  /** stop it and start it again; without it, that isn't offered */
  onRestart?: (() => void) | undefined;
  onClose: () => void;
  /** whether it has not started yet */
  pending?: boolean;
  /** the owner, if it is another user */
  owner?: string;
}

/** The question before a session is stopped, also by an administrator. */
export function StopDialog(props: Props) {
  const { name, opened, busy, onStop, onRestart, onClose, pending, owner } = props;
  return (
    <DialogShell opened={opened} onClose={onClose} title={t`Stop session ${name}?`} size="sm">
      <Text size="sm">
        {pending
          ? t`It has not started yet and loses its place in the queue.`
          : owner
            ? t`Its kernels end and what they hold in memory is lost. Saved notebooks and files stay with ${owner}.`
            : t`Its kernels end and what they hold in memory is lost. Saved notebooks and files stay.`}
      </Text>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose} data-autofocus>
          {pending ? t`Keep it` : t`Keep it running`}
        </Button>
        {onRestart && (
          <Button variant="default" disabled={busy} onClick={onRestart}>
            <Trans>Restart it</Trans>
          </Button>
        )}
        <Button color="red.9" loading={busy} onClick={onStop}>
          <Trans>Stop it</Trans>
        </Button>
      </Group>
    </DialogShell>
  );
}
