import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Button, Group, Menu, Modal, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '@/api/types';
import { ShareDialog } from '@/features/tensorboard/ShareDialog';
import { TensorboardLink } from '@/features/tensorboard/TensorboardLink';
import pageClasses from '@/ui/DetailPage.module.css';
import { focusPageIfLost } from '@/ui/focus';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { allowedActions, cancelJob, removeJob } from './actions';
import { JobCopyItems } from './JobCopyItems';

interface Props {
  job: Job;
  /** whether its TensorBoard is shared: then sharing can be revoked in any state */
  shared?: boolean;
  onRemoved: () => void;
}

/** The actions that are possible in the job's state, on its page: the usual next one stands out,
 * and what is rarely needed is in a menu. */
export function JobActions({ job, shared = false, onRemoved }: Props) {
  const can = allowedActions(job);
  return (
    <div className={pageClasses.actions}>
      {can.runAgain && <RunAgain id={job.id} />}
      {can.tensorboard && (
        <TensorboardLink id={job.id} kind="jobs" variant={can.runAgain ? 'default' : 'filled'} />
      )}
      {can.cancel && <CancelButton job={job} />}
      <MoreActions job={job} canShare={can.tensorboard || shared} onRemoved={onRemoved} />
    </div>
  );
}

interface MoreProps {
  job: Job;
  canShare: boolean;
  onRemoved: () => void;
}

function MoreActions({ job, canShare, onRemoved }: MoreProps) {
  const [busy, run] = useAction();
  const [sharing, setSharing] = useState(false);
  const can = allowedActions(job);
  return (
    <>
      <Menu position="bottom-start" width={260} shadow="md">
        <Menu.Target>
          <ActionIcon variant="default" size="input-sm" loading={busy} aria-label={t`More actions`}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {can.log && (
            <Menu.Item
              component={Link}
              to={`/jobs/${job.id}/log`}
              leftSection={<Icon name="log" />}
            >
              <Trans>Open the log</Trans>
            </Menu.Item>
          )}
          {canShare && (
            <Menu.Item leftSection={<Icon name="share" />} onClick={() => setSharing(true)}>
              <Trans>Share TensorBoard…</Trans>
            </Menu.Item>
          )}
          <JobCopyItems job={job} />
          {can.remove && (
            <>
              <Menu.Divider />
              <Menu.Item
                leftSection={<Icon name="trash" />}
                onClick={() => void run(() => removeJob(job.id).then(onRemoved))}
              >
                <Trans>Remove</Trans>
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <ShareDialog
        parent={{ kind: 'jobs', id: job.id }}
        name={job.name}
        opened={sharing}
        onClose={() => setSharing(false)}
      />
    </>
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
    <Button component={Link} to={`/jobs/new?from=${id}`} leftSection={<Icon name="again" />}>
      <Trans>Run again</Trans>
    </Button>
  );
}

function CancelButton({ job }: { job: Job }) {
  const [confirming, setConfirming] = useState(false);
  return (
    <>
      <Button
        variant="default"
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
