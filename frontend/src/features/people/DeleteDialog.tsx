import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { deletePerson } from './actions';
import { Choices } from './Choices';
import { type JobsPolicy, JobsPolicyChoice } from './JobsPolicyChoice';
import type { Person } from './shapes';
import { can } from './words';

interface Props {
  person: Person;
  opened: boolean;
  onClose: () => void;
}

type Files = 'keep' | 'archive' | 'delete';

/** What can be done with the files, and why the rest can't. */
function filesChoices(person: Person) {
  const choice = (value: 'archive' | 'delete', title: string, about: string) => {
    const missing = !person.home_tasks.includes(value)
      ? `The portal has no command for this: whoever runs it can set home_${value}_command.`
      : person.home === null
        ? 'The portal doesn’t know where they are.'
        : null;
    return { value, title, about: missing ?? about, disabled: missing !== null };
  };
  return [
    {
      value: 'keep',
      title: 'Keep the files',
      about: 'The home directory stays as it is; its number belongs to nobody then.',
    },
    choice('archive', 'Put them away', 'The site’s own command puts the home directory away.'),
    choice(
      'delete',
      'Delete the files',
      'The site’s own command removes the home directory. This can’t be undone.',
    ),
  ] as const;
}

/** Asks what becomes of files and jobs, and for the user name, typed, before somebody is deleted. */
export function DeleteDialog({ person, opened, onClose }: Props) {
  return (
    <DialogShell title={`Delete ${person.username}?`} opened={opened} onClose={onClose} size="lg">
      <Body person={person} onClose={onClose} />
    </DialogShell>
  );
}

function Body({ person, onClose }: Omit<Props, 'opened'>) {
  const [files, setFiles] = useState<Files>('keep');
  const [jobs, setJobs] = useState<JobsPolicy>('cancel');
  const [confirm, setConfirm] = useState('');
  const { username } = person;
  const ending = files === 'keep' ? jobs : 'cancel';
  const here = person.in_directory && can(person.capabilities, 'delete');
  return (
    <ConfirmForm
      onClose={onClose}
      act={() => deletePerson(username, { files, jobs: ending, confirm: confirm.trim() })}
      button="Delete"
      danger
      disabled={confirm.trim() !== username}
    >
      <Text size="sm">
        Everything of {username} closes at once, as when an account is disabled; then{' '}
        {here
          ? 'the entry leaves the directory and all groups'
          : 'the portal’s own account of them goes. The directory stays as it is'}
        . What they did stays in the audit. Disabling can be undone, this can’t.
      </Text>
      <Choices label="Files" value={files} onChange={setFiles} choices={filesChoices(person)} />
      {files === 'keep' ? (
        <JobsPolicyChoice value={jobs} onChange={setJobs} jobs={person.live.jobs} />
      ) : (
        <Text size="sm">Batch jobs are cancelled: they would go on without their files.</Text>
      )}
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
