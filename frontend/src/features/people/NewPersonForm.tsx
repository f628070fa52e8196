import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Paper, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { sentence } from '@/api/problem';
import { Notice } from '@/ui/Notice';
import { AsYouLeftIt } from '@/ui/StartOver';
import { Chips } from './Chips';
import classes from './NewPerson.module.css';
import { RARE, TEXTS, type TextField, usernameOf } from './newPerson';
import { GroupPick } from './SearchPick';
import { type Made, useNewPerson } from './useNewPerson';

interface Props {
  onMade: (made: Made) => void;
  onStartOver: () => void;
}

const LABELS: Record<TextField, string> = {
  given_name: t`Given name`,
  surname: t`Surname`,
  username: t`User name`,
  email: t`Mail, optional`,
  display_name: t`Shown as`,
  uid: t`Number (uid)`,
  gid: t`Primary group (gid)`,
  home: t`Home directory`,
  shell: t`Login shell`,
};

const HINTS: Partial<Record<TextField, string>> = {
  username: t`For logging in, for ssh and in Slurm. It can’t be changed later.`,
  display_name: t`Both names together, if empty.`,
  uid: t`The next free one, if empty.`,
  gid: t`A group of their own or the site’s, if empty.`,
  home: t`As the settings say, if empty.`,
  shell: t`As the settings say, if empty.`,
};

export function NewPersonForm({ onMade, onStartOver }: Props) {
  const { draft, set, kept, saving } = useNewPerson(onMade);
  const { form, busy, error: problem, submit } = saving;
  const elsewhere = saving.elsewhere([...TEXTS, 'groups']);
  const rare = RARE.some((field) => problem(field) !== undefined);
  const field = (name: TextField) => (
    <TextInput
      key={name}
      label={LABELS[name]}
      description={HINTS[name]}
      inputWrapperOrder={['label', 'input', 'error', 'description']}
      value={name === 'username' ? usernameOf(draft) : draft[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
      error={problem(name)}
      autoComplete="off"
      spellCheck={false}
      {...(name === 'username' ? { autoCapitalize: 'none' } : {})}
      {...(name === 'uid' || name === 'gid' ? { inputMode: 'numeric' } : {})}
    />
  );
  return (
    <Paper
      component="form"
      ref={form}
      className={classes.form}
      noValidate
      aria-label={t`New person`}
      onSubmit={(event: FormEvent) => void submit(event)}
    >
      <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
      {elsewhere !== null && <Notice tone="error">{sentence(elsewhere)}</Notice>}
      <div className={classes.fields}>
        {field('given_name')}
        {field('surname')}
        {field('username')}
        {field('email')}
      </div>
      <ChosenGroups
        groups={draft.groups}
        problem={problem('groups')}
        onChange={(groups) => set({ groups })}
      />
      <details className={classes.more} open={rare || undefined}>
        <summary>
          <Trans>Numbers, home directory and shell</Trans>
        </summary>
        <div className={classes.fields}>{RARE.map(field)}</div>
      </details>
      <Group justify="flex-end">
        <Button component={Link} to="/admin/people" variant="default" onClick={kept.drop}>
          <Trans>Cancel</Trans>
        </Button>
        <Button type="submit" loading={busy}>
          <Trans>Create person</Trans>
        </Button>
      </Group>
    </Paper>
  );
}

interface GroupsProps {
  groups: string[];
  problem: string | undefined;
  onChange: (groups: string[]) => void;
}

function ChosenGroups({ groups, problem, onChange }: GroupsProps) {
  return (
    <div className={classes.groups}>
      <GroupPick
        label={t`Groups, optional`}
        description={t`What they may use follows from these.`}
        placeholder={t`Type to find one`}
        without={groups}
        error={problem}
        onPick={(name) => onChange([...groups, name])}
      />
      {groups.length > 0 && (
        <Chips
          label={t`Chosen groups`}
          names={groups}
          onRemove={async (name) => onChange(groups.filter((other) => other !== name))}
          removeLabel={(name) => t`Leave out ${name}`}
        />
      )}
    </div>
  );
}
