import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Text } from '@mantine/core';
import type { Job } from '@/api/types';
import { focusPageIfLost } from '@/ui/focus';
import { useAction } from '@/ui/useAction';
import { cancelJob } from './actions';

interface Props {
  job: Job;
  opened: boolean;
  onClose: () => void;
}

/** The confirmation before a job is cancelled. */
export function CancelDialog({ job, opened, onClose }: Props) {
  const [busy, run] = useAction();
  const cancel = async (): Promise<void> => {
    await run(() => cancelJob(job.id));
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t`Cancel job ${{ name: job.name }}?`}
      size="sm"
      onExitTransitionEnd={focusPageIfLost}
    >
      <Text size="sm">
        {job.started_at === null
          ? t`It has not started yet and loses its place in the queue.`
          : t`It ends now. What it has written to files stays, with its log.`}
      </Text>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose} data-autofocus>
          {job.started_at === null ? t`Keep it` : t`Keep it running`}
        </Button>
        <Button color="red.9" loading={busy} onClick={() => void cancel()}>
          <Trans>Cancel it</Trans>
        </Button>
      </Group>
    </Modal>
  );
}
