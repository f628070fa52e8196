import { Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { fieldMessage, sentence } from '@/api/problem';
import type { JobDetail } from '@/api/types';
import { useAct } from '@/features/sessions/useAct';
import { shareJob, unshareJob } from './actions';
import classes from './JobPage.module.css';
import { jobQuery } from './queries';

/** Which folder TensorBoard shows, and who else may look. */
export function BoardBox({ job }: { job: JobDetail }) {
  return (
    <details className={classes.fold} open={job.logdir === null && job.started_at !== null}>
      <summary>TensorBoard: another folder, and who else may look</summary>
      <div className={classes.board}>
        <Folder job={job} />
        <Sharing job={job} />
      </div>
    </details>
  );
}

function Folder({ job }: { job: JobDetail }) {
  const [folder, setFolder] = useState(job.tensorboard?.logdir ?? job.logdir ?? '');
  const query = folder.trim() === '' ? '' : `?${new URLSearchParams({ logdir: folder.trim() })}`;
  return (
    <div className={classes.row}>
      <TextInput
        className={classes.grow}
        label="Folder"
        description="One of your own: the event files in it and below are shown side by side."
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
        Show this folder
      </Button>
    </div>
  );
}

function Sharing({ job }: { job: JobDetail }) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, act] = useAct();
  const refresh = () => client.invalidateQueries({ queryKey: jobQuery(job.id).queryKey });
  const add = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const username = name.trim();
    if (username === '') return setProblem('Enter a user name.');
    try {
      await shareJob(job.id, username);
      setName('');
      await refresh();
    } catch (error) {
      setProblem(fieldMessage(error, 'username') ?? sentence(error));
    }
  };
  const takeBack = (username: string) =>
    act(async () => {
      await unshareJob(job.id, username);
      await refresh();
    });
  return (
    <>
      <form className={classes.row} onSubmit={(event) => void add(event)} noValidate>
        <TextInput
          className={classes.grow}
          label="Share with"
          description="A user name. They see the TensorBoard and nothing else, until you take it back."
          value={name}
          onChange={(event) => {
            setProblem(null);
            setName(event.currentTarget.value);
          }}
          error={problem}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
        <Button type="submit" variant="default">
          Share
        </Button>
      </form>
      {job.shared_with.length > 0 && (
        <ul className={classes.people}>
          {job.shared_with.map((username) => (
            <li key={username}>
              {username}
              <Button
                size="compact-xs"
                variant="subtle"
                color="gray"
                disabled={busy}
                onClick={() => void takeBack(username)}
              >
                Take back<span className={classes.hidden}> from {username}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
