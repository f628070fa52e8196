import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import {
  Button,
  Checkbox,
  Group,
  Modal,
  NativeSelect,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { fieldMessage, sentence } from '@/api/problem';
import type { NewToken, Scope } from '@/api/types';
import { CopyButton } from '@/features/log/CopyButton';
import { Cancelled } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import classes from './Account.module.css';
import { useWithPassword } from './reauth';
import {
  createToken,
  curlExample,
  lifetimes,
  SCOPES,
  scopesFor,
  tokensQuery,
  usualLifetime,
} from './tokens';
import { useMe } from './useMe';

interface Props {
  opened: boolean;
  maxDays: number;
  onClose: () => void;
}

/** Makes a token, and shows it this once. */
export function TokenDialog({ opened, maxDays, onClose }: Props) {
  const queries = useQueryClient();
  const [made, setMade] = useState<NewToken | null>(null);
  const close = (): void => {
    onClose();
    setMade(null);
    void queries.invalidateQueries(tokensQuery);
  };
  return (
    <Modal
      // closed before the answer came: it is shown all the same, for it won't be again
      opened={opened || made !== null}
      onClose={close}
      title={made ? t`Token ${{ name: made.name }}` : t`New access token`}
      closeOnEscape={made === null}
    >
      {made ? (
        <Made token={made} onDone={close} />
      ) : (
        <TokenForm maxDays={maxDays} onMade={setMade} onCancel={close} />
      )}
    </Modal>
  );
}

function Made({ token, onDone }: { token: NewToken; onDone: () => void }) {
  return (
    <Stack>
      <Notice tone="warning">
        <Trans>
          Copy the token now: it is not shown again. Whoever has it can do what it may do.
        </Trans>
      </Notice>
      <pre className={classes.token} data-testid="token">
        {token.token}
      </pre>
      <Group>
        <CopyButton text={token.token} />
      </Group>
      <Text size="sm">
        <Trans>To try it, in a terminal:</Trans>
      </Text>
      <pre className={classes.token}>{curlExample(window.location.origin)}</pre>
      <Group justify="flex-end">
        <Button onClick={onDone}>
          <Trans>I have copied it</Trans>
        </Button>
      </Group>
    </Stack>
  );
}

interface FormProps {
  maxDays: number;
  onMade: (token: NewToken) => void;
  onCancel: () => void;
}

function TokenForm({ maxDays, onMade, onCancel }: FormProps) {
  const me = useMe();
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['read']);
  const [days, setDays] = useState(usualLifetime(maxDays));
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(false);
  const missing = name.trim() === '' ? t`Give it a name.` : undefined;

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    setTried(true);
    if (missing) return focusFirstProblem(form);
    setBusy(true);
    setError(null);
    const body = { name, scopes: scopes as Scope[], expires_in_days: Number(days) };
    try {
      onMade(await withPassword(() => createToken(body)));
    } catch (reason) {
      if (reason instanceof Cancelled) return;
      setError(reason);
      focusFirstProblem(form);
    } finally {
      setBusy(false);
    }
  };

  const fields = ['name', 'scopes', 'expires_in_days'];
  const shown = fields.some((field) => fieldMessage(error, field));
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        {error !== null && !shown && <Notice tone="error">{sentence(error)}</Notice>}
        <TextInput
          label={t`Name`}
          description={t`What it is for, so that you know it again.`}
          maxLength={100}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={(tried && missing) || fieldMessage(error, 'name')}
        />
        <Checkbox.Group
          label={t`It may`}
          value={scopes}
          onChange={setScopes}
          error={fieldMessage(error, 'scopes')}
        >
          <Stack gap="xs" mt={6}>
            {scopesFor(me.role).map((scope) => (
              <Checkbox key={scope} value={scope} {...SCOPES[scope]} />
            ))}
          </Stack>
        </Checkbox.Group>
        <NativeSelect
          label={t`It ends after`}
          data={lifetimes(maxDays)}
          value={days}
          onChange={(event) => setDays(event.currentTarget.value)}
          error={fieldMessage(error, 'expires_in_days')}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={busy}>
            <Trans>Make token</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
