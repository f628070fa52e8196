import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Anchor, Button, Stack, Text } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';
import type { LoggedIn } from '@/api/types';
import { CodeField } from './CodeField';
import { codeErrorMessage } from './secondFactor';

interface Props {
  onDone: (user: LoggedIn) => void;
  /** `error`: a message for the password form, if any */
  onBack: (error: string | null) => void;
  /** the label of the back button */
  back?: string;
}

/** The second step of a login: a code of the app, or a recovery code. */
export function CodeStep({ onDone, onBack, back = t`Log in as another user` }: Props) {
  const [code, setCode] = useState('');
  const [message, setMessage] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (code.trim() === '') return setMessage(t`Enter the code that your app shows.`);
    setBusy(true);
    try {
      onDone(await unwrap(api.POST('/api/v1/login/second-factor', { body: { code } })));
    } catch (reason) {
      if (reason instanceof ApiError && reason.slug === 'login-required')
        return onBack(t`You took longer than five minutes. Log in again.`);
      setMessage(codeErrorMessage(reason));
      field.current?.select();
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <Stack gap="md">
        <Text size="sm">
          <Trans>Enter the code from your authenticator app.</Trans>
        </Text>
        <CodeField
          ref={field}
          label={t({ message: 'Code', context: 'of the app' })}
          description={t`Without your phone, use one of your recovery codes.`}
          value={code}
          onChange={setCode}
          error={message}
        />
        <Button type="submit" size="md" fullWidth loading={busy}>
          <Trans>Log in</Trans>
        </Button>
        <Text size="sm">
          <Anchor component="button" type="button" onClick={() => onBack(null)}>
            {back}
          </Anchor>
        </Text>
      </Stack>
    </form>
  );
}
