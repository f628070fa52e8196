import { t } from '@lingui/core/macro';
import { Text } from '@mantine/core';
import type { Job } from '@/api/types';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { cancelJob } from './actions';

interface Props {
  job: Job;
  opened: boolean;
  onClose: () => void;
}

/** The confirmation before a job is cancelled. */
export function CancelDialog({ job, opened, onClose }: Props) {
  const isPending = job.started_at === null;
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t`Cancel job ${{ name: job.name }}?`}
      size="sm"
      act={() => cancelJob(job.id)}
      button={t`Cancel it`}
      keep={isPending ? t`Keep it` : t`Keep it running`}
      danger
    >
      <Text size="sm">
        {isPending
          ? t`It has not started yet and loses its place in the queue.`
          : t`It ends now. What it has written to files stays, with its log.`}
      </Text>
    </ConfirmDialog>
  );
}
