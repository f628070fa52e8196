import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, NativeSelect, Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { StateChip } from '@/ui/StateChip';
import { useReauthAction } from '@/ui/useReauthAction';
import { addAccount, addToGroup, makeHome } from './actions';
import {
  actionsFor,
  answerLabel,
  isManaged,
  QUESTIONS,
  type Question,
  type UserAction,
} from './labels';
import classes from './Readiness.module.css';
import type { Check, User } from './types';

const ORDER: readonly Question[] = ['login', 'session', 'home'];

interface Props {
  user: User;
  /** opens the dialog of an action */
  onAction: (action: UserAction) => void;
}

/** A checklist of what a user needs to work, with reasons and fixes for missing items. */
export function ReadinessBox({ user, onAction }: Props) {
  const { username } = user;
  return (
    <Paper component="section" className={classes.box} aria-label={t`Readiness of ${username}`}>
      <dl className={classes.checks}>
        {ORDER.map((question) => {
          const check = user.readiness[question];
          return (
            <div key={question} className={classes.check}>
              <dt>{QUESTIONS[question]}</dt>
              <dd>
                <StateChip {...answerLabel(check)} />
                <p className={classes.reason}>{translate(check.reason)}</p>
                <FixIt user={user} check={check} onAction={onAction} />
              </dd>
            </div>
          );
        })}
      </dl>
    </Paper>
  );
}

function FixIt({ user, check, onAction }: Props & { check: Check }) {
  const me = useMe();
  const { busy, change } = useReauthAction();
  const { username } = user;
  if (!mayChange(me)) return null;
  switch (check.fix) {
    case 'login-group':
      return isManaged(user) ? (
        <Choose
          choices={check.choices}
          label={t`Login group`}
          button={(name) => t`Add to ${name}`}
          busy={busy}
          onChoose={(name) => change(() => addToGroup(username, name))}
        />
      ) : null;
    case 'slurm-account':
      return isManaged(user) ? (
        <Choose
          choices={check.choices}
          label={t`Slurm account`}
          button={(name) => t`Add to Slurm account ${name}`}
          busy={busy}
          onChoose={(name) => change(() => addAccount(username, name))}
        />
      ) : null;
    case 'home':
      return isManaged(user) ? (
        <Button
          size="compact-sm"
          variant="light"
          loading={busy}
          onClick={() => change(() => makeHome(username))}
        >
          <Trans>Create the home directory</Trans>
        </Button>
      ) : null;
    case 'limits':
      return (
        <Link to="/admin/limits" search={{ user: username }}>
          <Trans>Change the limits</Trans>
        </Link>
      );
    case 'edit':
    case 'enable':
    case 'unlock':
      return <ActionButton action={check.fix} user={user} onAction={onAction} />;
    default:
      return null;
  }
}

const ACTIONS: Record<'edit' | 'enable' | 'unlock', string> = {
  edit: t`Edit the entry…`,
  enable: t`Enable the account…`,
  unlock: t`Unlock the account…`,
};

function ActionButton({ action, user, onAction }: Props & { action: keyof typeof ACTIONS }) {
  const me = useMe();
  if (!actionsFor(user, me.username).includes(action)) return null;
  return (
    <Button size="compact-sm" variant="light" onClick={() => onAction(action)}>
      {ACTIONS[action]}
    </Button>
  );
}

interface ChooseProps {
  choices: readonly string[];
  label: string;
  button: (name: string) => string;
  busy: boolean;
  onChoose: (name: string) => unknown;
}

/** A button for the first choice; with several, another can be selected before. */
function Choose({ choices, label, button, busy, onChoose }: ChooseProps) {
  const [picked, setPicked] = useState<string | null>(null);
  const chosen = picked !== null && choices.includes(picked) ? picked : choices[0];
  if (chosen === undefined) return null;
  return (
    <Group gap="xs" align="center">
      {choices.length > 1 && (
        <NativeSelect
          size="xs"
          aria-label={label}
          data={[...choices]}
          value={chosen}
          disabled={busy}
          onChange={(event) => setPicked(event.currentTarget.value)}
        />
      )}
      <Button
        size="compact-sm"
        variant="light"
        loading={busy}
        onClick={() => void onChoose(chosen)}
      >
        {button(chosen)}
      </Button>
    </Group>
  );
}
