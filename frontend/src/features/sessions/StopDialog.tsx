import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Text } from '@mantine/core';

interface Props {
  name: string;
  opened: boolean;
  busy: boolean;
  onStop: () => void;
  onClose: () => void;
  /** whose session it is, when it isn't one's own */
  owner?: string;
}

export function StopDialog({ name, opened, busy, onStop, onClose, owner }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title={t`Stop session ${name}?`} size="sm">
      <Text size="sm">
        {owner
          ? t`Its kernels end and what they hold in memory is lost. Saved notebooks and files stay with ${owner}.`
          : t`Its kernels end and what they hold in memory is lost. Saved notebooks and files stay.`}
      </Text>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose} data-autofocus>
          <Trans>Keep it running</Trans>
        </Button>
        <Button color="red.9" loading={busy} onClick={onStop}>
          <Trans>Stop it</Trans>
        </Button>
      </Group>
    </Modal>
  );
}
