import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, useRef, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { ApiError, fieldMessage } from '@/api/problem';
import type { LoggedIn } from '@/api/types';
import { Notice } from '@/ui/Notice';
import { loginErrorMessage } from './loginErrorMessage';
import { useCountdown } from './useCountdown';

const FORM = { username: 'username', password: 'password' } as const;

interface Missing {
  username?: string;
  password?: string;
}

function missing(username: string, password: string): Missing {
  return {
    ...(username === '' ? { username: t`Enter your user name.` } : {}),
    ...(password === '' ? { password: t`Enter your password.` } : {}),
  };
}

export interface Credentials {
  username: string;
  password: string;
}

interface Props {
  /** `credentials`: the entered credentials, for a step that needs them again */
  onUser: (user: LoggedIn, credentials: Credentials) => void;
  /** the reason for showing the form again */
  why?: string | null;
  /** the username, if only this one may log in */
  username?: string;
  /** the initial value of the username field, and its changes */
  name?: string;
  onName?: (name: string) => void;
}

export function LoginForm({ onUser, why = null, username: only, name, onName }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [empty, setEmpty] = useState<Missing>({});
  const [capsLock, setCapsLock] = useState(false);
  const [retryAt, setRetryAt] = useState<number | null>(null);
  const waitS = useCountdown(retryAt);
  const nameField = useRef<HTMLInputElement>(null);
  const passwordField = useRef<HTMLInputElement>(null);

  const showError = (reason: unknown): void => {
    setError(reason);
    if (reason instanceof ApiError && reason.retryAfterS !== null)
      setRetryAt(Date.now() + reason.retryAfterS * 1000);
    if (fieldMessage(reason, FORM.username)) nameField.current?.select();
    else passwordField.current?.select();
  };

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    // Read from the form: password managers fill fields without telling React.
    const form = new FormData(event.currentTarget);
    const username = String(form.get(FORM.username)).trim();
    const password = String(form.get(FORM.password));
    const gaps = missing(username, password);
    setEmpty(gaps);
    if (gaps.username) return nameField.current?.focus();
    if (gaps.password) return passwordField.current?.focus();
    setBusy(true);
    setError(null);
    try {
      const credentials = { username, password };
      onUser(await unwrap(api.POST('/api/v1/login', { body: credentials })), credentials);
    } catch (reason) {
      showError(reason);
    } finally {
      setBusy(false);
    }
  };

  const watchCapsLock = (event: KeyboardEvent): void =>
    setCapsLock(event.getModifierState('CapsLock'));
  const message = loginErrorMessage(error, waitS);

  const wrongPassword = empty.password ?? fieldMessage(error, FORM.password);
  return (
    <form method="post" onSubmit={(event) => void submit(event)} noValidate>
      <Stack gap="md">
        {message && <Notice tone="error">{message}</Notice>}
        {why && !message && <Notice tone="info">{why}</Notice>}
        <TextInput
          ref={nameField}
          label={t`User name`}
          name={FORM.username}
          autoComplete="username"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          {...(only === undefined
            ? { autoFocus: true, defaultValue: name }
            : { defaultValue: only, readOnly: true })}
          onChange={(event) => onName?.(event.currentTarget.value)}
          size="md"
          error={empty.username ?? fieldMessage(error, FORM.username)}
        />
        <PasswordInput
          ref={passwordField}
          data-autofocus
          label={t`Password`}
          name={FORM.password}
          autoComplete="current-password"
          size="md"
          onKeyDown={watchCapsLock}
          onKeyUp={watchCapsLock}
          onBlur={() => setCapsLock(false)}
          visibilityToggleButtonProps={{ 'aria-label': t`Show or hide the password`, tabIndex: 0 }}
          error={wrongPassword}
          aria-invalid={wrongPassword !== undefined}
        />
        <Text size="sm" role="status" c="var(--waiting)" hidden={!capsLock}>
          <Trans>Caps Lock is on.</Trans>
        </Text>
        <Button type="submit" size="md" fullWidth loading={busy} disabled={waitS > 0}>
          <Trans>Log in</Trans>
        </Button>
        {only === undefined && (
          <Text size="sm" c="dimmed">
            <Trans>Use your user name and password from your organization's directory.</Trans>
          </Text>
        )}
      </Stack>
    </form>
  );
}
