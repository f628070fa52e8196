import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '@/api/types';
import { ShareButton } from '@/features/tensorboard/ShareButton';
import { TensorboardLink } from '@/features/tensorboard/TensorboardLink';
import classes from '@/ui/CardList.module.css';
import { focusPageIfLost } from '@/ui/focus';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { allowedActions, cancelJob, removeJob } from './actions';

interface Props {
  job: Job;
  /** whether its TensorBoard is shared: then sharing can be revoked in any state */
  shared?: boolean;
  onRemoved: () => void;
}

/** The actions that are possible in the job's state, on its page. */
export function JobActions({ job, shared = false, onRemoved }: Props) {
  const can = allowedActions(job);
  return (
    <div className={classes.actions}>
      {can.tensorboard && <TensorboardLink id={job.id} kind="jobs" variant="default" />}
      {(can.tensorboard || shared) && (
        <ShareButton parent={{ kind: 'jobs', id: job.id }} name={job.name} />
      )}
      {can.runAgain && <RunAgain id={job.id} />}
      {can.cancel && <CancelButton job={job} />}
      {can.remove && <RemoveButton id={job.id} onRemoved={onRemoved} />}
    </div>
  );
}

export function JobLogLink({ job }: { job: Job }) {
  return (
    <Button
      component={Link}
      to={`/jobs/${job.id}/log`}
      variant="subtle"
      color="gray"
      leftSection={<Icon name="log" />}
    >
      <Trans>Log</Trans>
    </Button>
  );
}

function RunAgain({ id }: { id: string }) {
  return (
    <Button
      component={Link}
      to={`/jobs/new?from=${id}`}
      variant="subtle"
      color="gray"
      leftSection={<Icon name="again" />}
    >
      <Trans>Run again</Trans>
    </Button>
  );
}

function RemoveButton({ id, onRemoved }: { id: string; onRemoved: () => void }) {
  const [busy, run] = useAction();
  return (
    <Button
      variant="subtle"
      color="gray"
      loading={busy}
      leftSection={<Icon name="trash" />}
      onClick={() => void run(() => removeJob(id).then(onRemoved))}
    >
      <Trans>Remove</Trans>
    </Button>
  );
}

function CancelButton({ job }: { job: Job }) {
  const [confirming, setConfirming] = useState(false);
  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        leftSection={<Icon name="stop" />}
        onClick={() => setConfirming(true)}
      >
        <Trans>Cancel</Trans>
      </Button>
      <CancelDialog job={job} opened={confirming} onClose={() => setConfirming(false)} />
    </>
  );
}

interface CancelProps {
  job: Job;
  opened: boolean;
  onClose: () => void;
}

/** The confirmation before a job is cancelled. */
export function CancelDialog({ job, opened, onClose }: CancelProps) {
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
