import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '@/api/types';
import { ShareButton } from '@/features/tensorboard/ShareButton';
import { TensorboardLink } from '@/features/tensorboard/TensorboardLink';
import { isLive } from '@/live/reducer';
import classes from '@/ui/CardList.module.css';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { cancelJob, removeJob } from './actions';

interface Props {
  job: Job;
  /** on the page that shows the log itself there is no way to it */
  withLog?: boolean;
  /** whether others may look at its TensorBoard: then that can be taken back, whatever it shows */
  shared?: boolean;
  onRemoved: () => void;
}

/** What can be done about a job as it stands. */
export function JobActions({ job, withLog = true, shared = false, onRemoved }: Props) {
  const begun = job.started_at !== null;
  const again = !job.external && !isLive(job);
  // Of what was submitted elsewhere only its owner knows where it logs: the job's page asks.
  const board = begun && (job.logdir !== null || job.tensorboard !== null);
  return (
    <div className={classes.actions}>
      {board && (
        <TensorboardLink id={job.id} kind="jobs" variant={withLog ? 'subtle' : 'default'} />
      )}
      {!withLog && (board || shared) && (
        <ShareButton parent={{ kind: 'jobs', id: job.id }} name={job.name} />
      )}
      {withLog && begun && <JobLogLink job={job} />}
      {again && <RunAgain id={job.id} />}
      {isLive(job) ? (
        job.state !== 'stopping' && <CancelButton job={job} />
      ) : (
        <RemoveButton id={job.id} onRemoved={onRemoved} />
      )}
    </div>
  );
}

function JobLogLink({ job }: { job: Job }) {
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
  const [busy, act] = useAction();
  return (
    <Button
      variant="subtle"
      color="gray"
      loading={busy}
      leftSection={<Icon name="trash" />}
      onClick={() => void act(() => removeJob(id).then(onRemoved))}
    >
      <Trans>Remove</Trans>
    </Button>
  );
}

function CancelButton({ job }: { job: Job }) {
  const [asking, setAsking] = useState(false);
  const [busy, act] = useAction();
  const cancel = async (): Promise<void> => {
    await act(() => cancelJob(job.id));
    setAsking(false);
  };
  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        leftSection={<Icon name="stop" />}
        onClick={() => setAsking(true)}
      >
        <Trans>Cancel</Trans>
      </Button>
      <Modal
        opened={asking}
        onClose={() => setAsking(false)}
        title={t`Cancel job ${{ name: job.name }}?`}
        size="sm"
      >
        <Text size="sm">
          {job.started_at === null
            ? t`It has not started yet and loses its place in the queue.`
            : t`It ends now. What it has written to files stays, with its log.`}
        </Text>
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={() => setAsking(false)} data-autofocus>
            {job.started_at === null ? t`Keep it` : t`Keep it running`}
          </Button>
          <Button color="red.9" loading={busy} onClick={() => void cancel()}>
            <Trans>Cancel it</Trans>
          </Button>
        </Group>
      </Modal>
    </>
  );
}
