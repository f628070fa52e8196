import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Button, Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '@/api/types';
import { ShareDialog } from '@/features/tensorboard/ShareDialog';
import { TensorboardLink } from '@/features/tensorboard/TensorboardLink';
import pageClasses from '@/ui/DetailPage.module.css';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { allowedActions, removeJob } from './actions';
import { CancelDialog } from './CancelDialog';
import { JobCopyItems } from './JobCopyItems';

interface Props {
  job: Job;
  /** whether its TensorBoard is shared: then sharing can be revoked in any state */
  shared?: boolean;
  onRemoved: () => void;
}

/** The actions that the job's state allows, on its page: the most likely one stands out, and rare ones
 * are in a menu. */
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
