import { Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { plural } from '@/features/sessions/words';
import { ConfirmForm, DialogShell } from '@/ui/ConfirmDialog';
import { disablePerson } from './actions';
import { type JobsPolicy, JobsPolicyChoice } from './JobsPolicyChoice';
import type { Person } from './shapes';
import { can } from './words';

interface Props {
  person: Person;
  opened: boolean;
  onClose: () => void;
}

const MOST_WORDS = 500;

/** Asks why and what becomes of the jobs, and says what happens at once. */
export function DisableDialog({ person, opened, onClose }: Props) {
  return (
    <DialogShell title={`Disable ${person.username}?`} opened={opened} onClose={onClose}>
      <Body person={person} onClose={onClose} />
    </DialogShell>
  );
}

function Body({ person, onClose }: Omit<Props, 'opened'>) {
  const [why, setWhy] = useState('');
  const [jobs, setJobs] = useState<JobsPolicy>('cancel');
  const { sessions } = person.live;
  return (
    <ConfirmForm
      onClose={onClose}
      act={() => disablePerson(person.username, { why: why.trim(), jobs })}
      button="Disable"
      danger
    >
      <Text size="sm">
        At once: nothing in the portal works for {person.username} any more,{' '}
        {sessions > 0 ? `${plural(sessions, 'session')} and ` : ''}all open notebooks and
        TensorBoards close, access tokens are refused, and nobody can log in with this name
        {can(person.capabilities, 'disable') ? ', here or by ssh' : ' here'}. Files stay as they
        are. You can enable the account again at any time.
      </Text>
      {!can(person.capabilities, 'disable') && (
        <Text size="sm" c="dimmed">
          The directory itself is left as it is: {person.capabilities.missing.disable}
        </Text>
      )}
      <JobsPolicyChoice value={jobs} onChange={setJobs} jobs={person.live.jobs} />
      <Textarea
        label="Why, for whoever looks next"
        description="Administrators and viewers see it; it stays in the audit."
        value={why}
        onChange={(event) => setWhy(event.currentTarget.value)}
        maxLength={MOST_WORDS}
        rows={2}
        data-autofocus
      />
    </ConfirmForm>
  );
}
