import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Paper, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { fieldMessage, sentence } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { useDraft } from '@/lib/useFormDraft';
import { Cancelled } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { AsYouLeftIt } from '@/ui/StartOver';
import { createPerson } from './actions';
import { Chips } from './Chips';
import classes from './NewPerson.module.css';
import {
  draftErrors,
  EMPTY,
  isNewDraft,
  type NewDraft,
  RARE,
  requestOf,
  TEXTS,
  type TextField,
  usernameOf,
} from './newPerson';
import { GroupPick } from './SearchPick';
import type { OneTimePassword, Person } from './shapes';

interface Props {
  onMade: (made: { person: Person; password: OneTimePassword }) => void;
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
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const { draft, setDraft, kept } = useDraft('new-person', () => EMPTY, isNewDraft);
  const set = (change: Partial<NewDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const errors = tried ? draftErrors(draft) : {};
  const problem = (field: TextField): string | undefined =>
    errors[field] ?? fieldMessage(error, field);
  const rare = RARE.some((field) => problem(field) !== undefined);

  const create = async (): Promise<void> => {
    try {
      const made = await withPassword(() => createPerson(requestOf(draft)));
      kept.drop();
      onMade(made);
    } catch (refusal) {
      if (refusal instanceof Cancelled) return;
      setError(refusal);
      focusFirstProblem(form);
    }
  };

  const submit = async (event: FormEvent): Promise<void> => {
    if (event.target !== event.currentTarget) return; // of a dialog within
    event.preventDefault();
    if (busy) return;
    setTried(true);
    setError(null);
    if (Object.keys(draftErrors(draft)).length > 0) return focusFirstProblem(form);
    setBusy(true);
    await create();
    setBusy(false);
  };

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
  const elsewhere =
    error !== null &&
    !fieldMessage(error, 'groups') &&
    !TEXTS.some((name) => fieldMessage(error, name));
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
      {elsewhere && <Notice tone="error">{sentence(error)}</Notice>}
      <div className={classes.fields}>
        {field('given_name')}
        {field('surname')}
        {field('username')}
        {field('email')}
      </div>
      <div className={classes.groups}>
        <GroupPick
          label={t`Groups, optional`}
          description={t`What they may use follows from these.`}
          placeholder={t`Type to find one`}
          without={draft.groups}
          error={fieldMessage(error, 'groups')}
          onPick={(name) => set({ groups: [...draft.groups, name] })}
        />
        {draft.groups.length > 0 && (
          <Chips
            label={t`Chosen groups`}
            names={draft.groups}
            onRemove={async (name) =>
              set({ groups: draft.groups.filter((other) => other !== name) })
            }
            removeLabel={(name) => t`Leave out ${name}`}
          />
        )}
      </div>
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
