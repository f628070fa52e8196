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
import { useState } from 'react';
import { sentence } from '@/api/problem';
import type { NewToken, Scope } from '@/api/types';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/AccountSection.module.css';
import { CopyButton } from '@/ui/CopyButton';
import { Notice } from '@/ui/Notice';
import { useSaving } from '@/ui/useSaving';
import {
  createToken,
  curlExample,
  lifetimes,
  SCOPES,
  scopesFor,
  tokensQuery,
  usualLifetime,
} from './tokens';

interface Props {
  opened: boolean;
  maxDays: number;
  onClose: () => void;
}

/** The dialog that creates a token and shows it once. */
export function TokenDialog({ opened, maxDays, onClose }: Props) {
  const queries = useQueryClient();
  const [created, setCreated] = useState<NewToken | null>(null);
  const close = (): void => {
    onClose();
    setCreated(null);
    void queries.invalidateQueries(tokensQuery);
  };
  return (
    <Modal
      // shown even if closed before the response: it cannot be shown again
      opened={opened || created !== null}
      onClose={close}
      title={created ? t`Token ${{ name: created.name }}` : t`New access token`}
      closeOnEscape={created === null}
    >
      {created ? (
        <Made token={created} onDone={close} />
      ) : (
        <TokenForm maxDays={maxDays} onMade={setCreated} onCancel={close} />
      )}
    </Modal>
  );
}

function Made({ token, onDone }: { token: NewToken; onDone: () => void }) {
  return (
    <Stack>
      <Notice tone="warning">
        <Trans>
          Copy the token now: it is not shown again. Anyone who has it can use its permissions.
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
          <Trans>Done</Trans>
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
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['read']);
  const [days, setDays] = useState(usualLifetime(maxDays));
  const { form, busy, error, elsewhere, submit } = useSaving({
    check: () => (name.trim() === '' ? { name: t`Give it a name.` } : {}),
    save: async () => {
      const request = { name, scopes: scopes as Scope[], expires_in_days: Number(days) };
      onMade(await createToken(request));
    },
  });
  const refusal = elsewhere(['name', 'scopes', 'expires_in_days']);
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        {refusal !== null && <Notice tone="error">{sentence(refusal)}</Notice>}
        <TextInput
          label={t`Name`}
          description={t`The purpose of the token, so that you recognize it later.`}
          maxLength={100}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={error('name')}
        />
        <Checkbox.Group
          label={t`Permissions`}
          value={scopes}
          onChange={setScopes}
          error={error('scopes')}
        >
          <Stack gap="xs" mt={6}>
            {scopesFor(me.role).map((scope) => (
              <Checkbox key={scope} value={scope} {...SCOPES[scope]} />
            ))}
          </Stack>
        </Checkbox.Group>
        <NativeSelect
          label={t`Expires after`}
          data={lifetimes(maxDays)}
          value={days}
          onChange={(event) => setDays(event.currentTarget.value)}
          error={error('expires_in_days')}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={busy}>
            <Trans>Create token</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
