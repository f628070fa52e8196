import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Job } from '@/api/types';
import { rootsQuery } from '@/features/files/queries';
import { searchForFolder } from '@/features/files/search';
import { copyText } from '@/lib/copy';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { allowedActions, removeJob } from './actions';
import { PopupAnchor } from './PopupAnchor';
import { useReturnedFocus } from './useReturnedFocus';

/** The menu of a job or the reason of its state, above the table. */
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

async function copy(text: string): Promise<void> {
  const copied = await copyText(text);
  notifications.show({ message: copied ? t`Copied.` : t`Could not copy.`, autoClose: 3000 });
}

/** The menu of a row: what its state allows, at the button or the pointer. */
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
        <Menu.Item
          leftSection={<Icon name="copy" />}
          onClick={() => void copy(String(job.job_id ?? job.id))}
        >
          {job.job_id === null ? t`Copy the id` : t`Copy the Slurm job number`}
        </Menu.Item>
        {job.logdir !== null && <FolderItems folder={job.logdir} />}
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

function FolderItems({ folder }: { folder: string }) {
  const { data } = useQuery(rootsQuery);
  const search = searchForFolder(data?.items ?? [], folder);
  return (
    <>
      <Menu.Item leftSection={<Icon name="copy" />} onClick={() => void copy(folder)}>
        <Trans>Copy the folder’s path</Trans>
      </Menu.Item>
      {search && (
        <Menu.Item
          renderRoot={(props) => <Link {...props} to="/files" search={search} preload={false} />}
          leftSection={<Icon name="link" />}
        >
          <Trans>Open the folder in Files</Trans>
        </Menu.Item>
      )}
    </>
  );
}
