import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Paper, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { errorMessage } from '@/api/problem';
import { GroupPick } from '@/features/directory/GroupPick';
import { Chips } from '@/ui/Chips';
import { Fold } from '@/ui/Fold';
import { FormSkeleton } from '@/ui/FormSkeleton';
import { RecordForm } from '@/ui/RecordForm';
import { TryAgain } from '@/ui/TryAgain';
import classes from './NewUser.module.css';
import { NewUserAccess, NewUserLimits } from './NewUserAccess';
import { COLLAPSED_FIELDS, homeOf, type TextField, usernameOf } from './newUser';
import { newUserQuery } from './queries';
import type { NewUserDefaults } from './types';
import { type CreatedUser, useNewUser } from './useNewUser';

interface Props {
  onCreated: (created: CreatedUser) => void;
}

const LABELS: Record<TextField, string> = {
  given_name: t`Given name`,
  surname: t`Surname`,
  username: t`User name`,
  email: t`E-mail, optional`,
  display_name: t`Display name`,
  uid: t`UID`,
  gid: t`Primary group (GID)`,
  home: t`Home directory`,
  shell: t`Login shell`,
};

const HINTS: Partial<Record<TextField, string>> = {
  username: t`For logging in, for ssh and in Slurm. It can't be changed later.`,
  display_name: t`If empty: both names together.`,
  uid: t`If empty: the next free UID.`,
  gid: t`If empty: a personal group, or the group set for this site.`,
  shell: t`If empty: the value from the settings.`,
};

/** The form for a new user, with the settings' defaults filled in. */
export function NewUserForm(props: Props) {
  const { data, error, refetch } = useQuery(newUserQuery);
  if (data) return <NewForm {...props} defaults={data} />;
  if (error) return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  return (
    <Paper className={classes.form}>
      <FormSkeleton groups={GROUPS} bare />
    </Paper>
  );
}

const GROUPS = [
  ['fields', 4],
  ['fields', 2],
  ['wide', 2],
  ['wide', 2, 46],
] as const;

function NewForm({ onCreated, defaults }: Props & { defaults: NewUserDefaults }) {
  const form = useNewUser(defaults, onCreated);
  const { values: typed, set, error } = form;
  const values = { ...typed, username: usernameOf(typed), home: homeOf(typed, defaults) };
  const hints = { ...HINTS, home: homeHint(defaults) };
  const hasCollapsedError = COLLAPSED_FIELDS.some((field) => error(field) !== undefined);
  const field = (name: TextField) => (
    <TextInput
      key={name}
      label={LABELS[name]}
      description={hints[name]}
      inputWrapperOrder={['label', 'input', 'error', 'description']}
      value={values[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
      error={error(name)}
      autoComplete="off"
      spellCheck={false}
      {...(name === 'username' ? { autoCapitalize: 'none' } : {})}
      {...(name === 'uid' || name === 'gid' ? { inputMode: 'numeric' } : {})}
    />
  );
  const foot = (
    <Group justify="flex-end">
      <Button component={Link} to="/admin/users" variant="default" onClick={form.discard}>
        <Trans>Cancel</Trans>
      </Button>
      <Button type="submit" loading={form.busy}>
        <Trans>Create user</Trans>
      </Button>
    </Group>
  );
  return (
    <RecordForm form={form} card={classes.form} label={t`New user`} foot={foot}>
      <div className={classes.fields}>
        {field('given_name')}
        {field('surname')}
        {field('username')}
        {field('email')}
      </div>
      <NewUserAccess values={typed} set={set} defaults={defaults} fieldError={error} />
      <ChosenGroups
        groups={typed.groups}
        error={error('groups')}
        onChange={(groups) => set({ groups })}
      />
      <div className={classes.fields}>{field('home')}</div>
      <NewUserLimits values={typed} set={set} defaults={defaults} fieldError={error} />
      <Fold
        summary={<Trans>Display name, UID, GID and shell</Trans>}
        open={hasCollapsedError || undefined}
      >
        <div className={classes.fields}>{COLLAPSED_FIELDS.map(field)}</div>
      </Fold>
    </RecordForm>
  );
}

const homeHint = ({ makes_home: makes }: NewUserDefaults): string =>
  makes
    ? t`Created automatically.`
    : t`Written to the directory; the portal has no command that creates it.`;

interface GroupsProps {
  groups: string[];
  error: string | undefined;
  onChange: (groups: string[]) => void;
}

function ChosenGroups({ groups, error, onChange }: GroupsProps) {
  return (
    <div className={classes.groups}>
      <GroupPick
        label={t`More groups, optional`}
        description={t`Limits and file access can follow from these.`}
        placeholder={t`Type to find one`}
        without={groups}
        error={error}
        onPick={(name) => onChange([...groups, name])}
      />
      {groups.length > 0 && (
        <Chips
          label={t`Chosen groups`}
          names={groups}
          onRemove={async (name) => onChange(groups.filter((other) => other !== name))}
          removeLabel={(name) => t`Remove ${name}`}
        />
      )}
    </div>
  );
}
