import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { JobDetail } from '@/api/types';
import { Fold } from '@/ui/Fold';
import classes from './JobPage.module.css';

/** The field for the folder that TensorBoard shows. */
export function TensorboardBox({ job }: { job: JobDetail }) {
  return (
    <Fold
      summary={t`TensorBoard of another folder`}
      open={job.logdir === null && job.started_at !== null}
    >
      <Folder job={job} />
    </Fold>
  );
}

function Folder({ job }: { job: JobDetail }) {
  const [folder, setFolder] = useState(job.tensorboard?.logdir ?? job.logdir ?? '');
  const query = folder.trim() === '' ? '' : `?${new URLSearchParams({ logdir: folder.trim() })}`;
  return (
    <div className={classes.row}>
      <TextInput
        className={classes.grow}
        label={t`Folder`}
        description={t`Choose a folder of your own: the event files in it and its subfolders are shown side by side.`}
        value={folder}
        onChange={(event) => setFolder(event.currentTarget.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <Button
        component="a"
        variant="default"
        href={`/jobs/${job.id}/tensorboard${query}`}
        target="_blank"
        rel="noopener"
      >
        <Trans>Show this folder</Trans>
      </Button>
    </div>
  );
}
