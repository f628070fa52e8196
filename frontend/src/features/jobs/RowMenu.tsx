import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Job } from '@/api/types';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { allowedActions, removeJob } from './actions';
import { JobCopyItems } from './JobCopyItems';
import { PopupAnchor } from './PopupAnchor';
import { useReturnedFocus } from './useReturnedFocus';

/** The menu of a job or the reason for its state, shown over the table. */
export interface RowPopup {
  kind: 'menu' | 'reason';
  job: Job;
  /** pixels from the window's corner */
  x: number;
  y: number;
}

interface Props extends RowPopup {
  onClose: () => void;
  onCancel: (job: Job) => void;
  onRemoved: (id: string) => void;
}

/** A job's menu at its button or the pointer: the actions that the job's state allows. */
export function RowMenu({ job, x, y, onClose, onCancel, onRemoved }: Props) {
  const [, run] = useAction();
  useReturnedFocus();
  const can = allowedActions(job);
  return (
    <Menu opened onChange={(opened) => !opened && onClose()} position="bottom-start" width={260}>
      <Menu.Target>
        <PopupAnchor x={x} y={y} />
      </Menu.Target>
      <Menu.Dropdown aria-label={t`Actions of ${{ name: job.name }}`}>
        <Menu.Item
          component={Link}
          to={`/jobs/${job.id}`}
          target="_blank"
          leftSection={<Icon name="open" />}
        >
          <Trans>Open in a new tab</Trans>
        </Menu.Item>
        {can.log && (
          <Menu.Item component={Link} to={`/jobs/${job.id}/log`} leftSection={<Icon name="log" />}>
            <Trans>Open the log</Trans>
          </Menu.Item>
        )}
        {can.tensorboard && (
          <Menu.Item
            component="a"
            href={`/jobs/${job.id}/tensorboard`}
            target="_blank"
            rel="noopener"
            leftSection={<Icon name="chart" />}
          >
            TensorBoard
          </Menu.Item>
        )}
        <Menu.Divider />
        <JobCopyItems job={job} />
        {(can.runAgain || can.cancel || can.remove) && <Menu.Divider />}
        {can.runAgain && (
          <Menu.Item
            component={Link}
            to={`/jobs/new?from=${job.id}`}
            leftSection={<Icon name="again" />}
          >
            <Trans>Run again</Trans>
          </Menu.Item>
        )}
        {can.cancel && (
          <Menu.Item
            c="var(--bad)"
            leftSection={<Icon name="stop" />}
            onClick={() => onCancel(job)}
          >
            <Trans>Cancel…</Trans>
          </Menu.Item>
        )}
        {can.remove && (
          <Menu.Item
            leftSection={<Icon name="trash" />}
            onClick={() => void run(() => removeJob(job.id).then(() => onRemoved(job.id)))}
          >
            <Trans>Remove</Trans>
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
