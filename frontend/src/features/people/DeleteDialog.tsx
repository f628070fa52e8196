import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { deletePerson } from './actions';
import { Choices } from './Choices';
import { type JobsPolicy, JobsPolicyChoice } from './JobsPolicyChoice';
import type { Person } from './shapes';

interface Props {
  person: Person;
  opened: boolean;
  onClose: () => void;
}

type Files = 'keep' | 'archive' | 'delete';

const NO_COMMAND = 'The portal has no command for this: ';

/** What can be done with the files; without a command of the site's, only nothing. */
function filesChoices({ home_tasks: tasks }: Pick<Person, 'home_tasks'>) {
  const [archive, remove] = [tasks.includes('archive'), tasks.includes('delete')];
  return [
    {
      value: 'keep',
      title: 'Keep the files',
      about: 'The home directory stays as it is; its number belongs to nobody then.',
    },
    {
      value: 'archive',
      title: 'Put them away',
      about: archive
        ? 'The site’s own command puts the home directory away.'
        : `${NO_COMMAND}whoever runs it can set home_archive_command.`,
      disabled: !archive,
    },
    {
      value: 'delete',
      title: 'Delete the files',
      about: remove
        ? 'The site’s own command removes the home directory. This can’t be undone.'
        : `${NO_COMMAND}whoever runs it can set home_delete_command.`,
      disabled: !remove,
    },
  ] as const;
}

/** Asks what becomes of files and jobs, and for the user name, typed, before somebody is deleted. */
export function DeleteDialog({ person, opened, onClose }: Props) {
  return (
    <DialogShell title={`Delete ${person.username}?`} opened={opened} onClose={onClose}>
      <Body person={person} onClose={onClose} />
    </DialogShell>
  );
}

function Body({ person, onClose }: Omit<Props, 'opened'>) {
  const [files, setFiles] = useState<Files>('keep');
  const [jobs, setJobs] = useState<JobsPolicy>('cancel');
  const [confirm, setConfirm] = useState('');
  const { username } = person;
  return (
    <ConfirmForm
      onClose={onClose}
      act={() => deletePerson(username, { files, jobs, confirm: confirm.trim() })}
      button="Delete"
      danger
      disabled={confirm.trim() !== username}
    >
      <Text size="sm">
        Everything of {username} closes at once, as when an account is disabled; then the entry
        leaves the directory and all groups. What they did stays in the audit. Disabling keeps the
        entry and can be undone.
      </Text>
      <Choices label="Files" value={files} onChange={setFiles} choices={filesChoices(person)} />
      <JobsPolicyChoice value={jobs} onChange={setJobs} jobs={person.live.jobs} />
      <TextInput
        label={`To be sure, type ${username}`}
        value={confirm}
        onChange={(event) => setConfirm(event.currentTarget.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
    </ConfirmForm>
  );
}
