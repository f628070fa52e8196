import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { NewToken, Scope } from '@/api/types';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/AccountSection.module.css';
import { DialogShell } from '@/ui/ConfirmDialog';
import { CopyButton } from '@/ui/CopyButton';
import { Notice } from '@/ui/Notice';
import { RecordForm } from '@/ui/RecordForm';
import { useRecordForm } from '@/ui/useRecordForm';
import {
  createToken,
  curlExample,
  lifetimes,
  SCOPES,
  scopesFor,
  tokensQuery,
  usualLifetime,
} from './tokens';

/** A token for one purpose: what its form begins with, and the command that uses it. */
export interface TokenPurpose {
  name: string;
  scopes: Scope[];
  command: string;
}

interface Props {
  opened: boolean;
  maxDays: number;
  onClose: () => void;
  purpose?: TokenPurpose;
}

/** The dialog that creates a token and shows it once. */
export function TokenDialog({ opened, maxDays, onClose, purpose }: Props) {
  const queries = useQueryClient();
  const [created, setCreated] = useState<NewToken | null>(null);
  const close = (): void => {
    onClose();
    setCreated(null);
    void queries.invalidateQueries(tokensQuery);
  };
  return (
    <DialogShell
      // shown even if closed before the response: it cannot be shown again
      opened={opened || created !== null}
      onClose={close}
      title={created ? t`Token ${{ name: created.name }}` : t`New access token`}
      closeOnEscape={created === null}
    >
      {created ? (
        <Made token={created} purpose={purpose} onDone={close} />
      ) : (
        <TokenForm maxDays={maxDays} purpose={purpose} onMade={setCreated} onCancel={close} />
      )}
    </DialogShell>
  );
}

interface MadeProps {
  token: NewToken;
  purpose: TokenPurpose | undefined;
  onDone: () => void;
}

function Made({ token, purpose, onDone }: MadeProps) {
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
        {purpose ? (
          <Trans>To save it on your computer, in a terminal:</Trans>
        ) : (
          <Trans>To try it, in a terminal:</Trans>
        )}
      </Text>
      <pre className={classes.token}>{purpose?.command ?? curlExample(window.location.origin)}</pre>
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
  purpose: TokenPurpose | undefined;
  onMade: (token: NewToken) => void;
  onCancel: () => void;
}

function TokenForm({ maxDays, purpose, onMade, onCancel }: FormProps) {
  const me = useMe();
  const form = useRecordForm({
    initial: () => ({
      name: purpose?.name ?? '',
      scopes: purpose?.scopes ?? (['read'] as Scope[]),
      days: usualLifetime(maxDays),
    }),
    fields: ['name', 'scopes', 'expires_in_days'],
    check: ({ name }) => (name.trim() === '' ? { name: t`Give it a name.` } : {}),
    save: ({ name, scopes, days }) => createToken({ name, scopes, expires_in_days: Number(days) }),
    saved: onMade,
  });
  return (
    <RecordForm form={form} button={<Trans>Create token</Trans>} onCancel={onCancel}>
      <TextInput
        label={t`Name`}
        description={t`The purpose of the token, so that you recognize it later.`}
        maxLength={100}
        data-autofocus
        {...form.text('name')}
      />
      <Checkbox.Group
        label={t`Permissions`}
        value={form.values.scopes}
        onChange={(scopes) => form.set({ scopes: scopes as Scope[] })}
        error={form.error('scopes')}
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
        {...form.text('days', 'expires_in_days')}
      />
    </RecordForm>
  );
}
