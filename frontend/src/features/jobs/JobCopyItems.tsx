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

async function copy(text: string): Promise<void> {
  const copied = await copyText(text);
  notifications.show({ message: copied ? t`Copied.` : t`Could not copy.`, autoClose: 3000 });
}

/** The items of a job's menus that copy its number and its folder's path, and open the folder. */
export function JobCopyItems({ job }: { job: Job }) {
  return (
    <>
      <Menu.Item
        leftSection={<Icon name="copy" />}
        onClick={() => void copy(String(job.job_id ?? job.id))}
      >
        {job.job_id === null ? t`Copy the id` : t`Copy the Slurm job number`}
      </Menu.Item>
      {job.logdir !== null && <FolderItems folder={job.logdir} />}
    </>
  );
}

function FolderItems({ folder }: { folder: string }) {
  const { data } = useQuery(rootsQuery);
  const search = searchForFolder(data?.items ?? [], folder);
  return (
    <>
      <Menu.Item leftSection={<Icon name="copy" />} onClick={() => void copy(folder)}>
        <Trans>Copy the folder's path</Trans>
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
