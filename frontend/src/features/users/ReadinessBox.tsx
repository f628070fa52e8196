import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, NativeSelect, Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { translate } from '@/i18n/translate';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { StateChip } from '@/ui/StateChip';
import { useChange } from '@/ui/useChange';
import { addToGroup, giveAccount, makeHome } from './actions';
import { type Act, actsFor, answerLabel, isManaged, QUESTIONS, type Question } from './labels';
import classes from './Readiness.module.css';
import type { Check, User } from './types';

const ORDER: readonly Question[] = ['login', 'session', 'home'];

interface Props {
  user: User;
  /** opens the dialog of an act */
  onAct: (act: Act) => void;
}

/** What someone needs to work: whether they have it, why not, and what mends it. */
export function ReadinessBox({ user, onAct }: Props) {
  const { username } = user;
  return (
    <Paper component="section" className={classes.box} aria-label={t`Whether ${username} can work`}>
      <dl className={classes.checks}>
        {ORDER.map((question) => {
          const check = user.readiness[question];
          return (
            <div key={question} className={classes.check}>
              <dt>{QUESTIONS[question]}</dt>
              <dd>
                <StateChip {...answerLabel(check)} />
                <p className={classes.reason}>{translate(check.reason)}</p>
                <FixIt user={user} check={check} onAct={onAct} />
              </dd>
            </div>
          );
        })}
      </dl>
    </Paper>
  );
}

function FixIt({ user, check, onAct }: Props & { check: Check }) {
  const me = useMe();
  const { busy, change } = useChange();
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
          button={(name) => t`Give the account ${name}`}
          busy={busy}
          onChoose={(name) => change(() => giveAccount(username, name))}
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
          <Trans>Make the home directory</Trans>
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
      return <ActButton act={check.fix} user={user} onAct={onAct} />;
    default:
      return null;
  }
}

const ACTS: Record<'edit' | 'enable' | 'unlock', string> = {
  edit: t`Enter one…`,
  enable: t`Enable the account…`,
  unlock: t`Unlock the account…`,
};

function ActButton({ act, user, onAct }: Props & { act: keyof typeof ACTS }) {
  const me = useMe();
  if (!actsFor(user, me.username).includes(act)) return null;
  return (
    <Button size="compact-sm" variant="light" onClick={() => onAct(act)}>
      {ACTS[act]}
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

/** A button for the first of them; where there are more, another can be picked before. */
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
