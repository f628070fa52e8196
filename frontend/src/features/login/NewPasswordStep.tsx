import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Anchor, Button, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { ApiError, errorMessage, fieldMessage } from '@/api/problem';
import type { LoggedIn } from '@/api/types';
import { useFocusError } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { checkNewPassword, type NewPasswordErrors } from './newPassword';

/** As the portal has it in portal/directory/contract.py; for the description only. */
const MAX_PASSWORD_LENGTH = 1024;

interface Props {
  username: string;
  /** the one-time password from the form before; kept in memory only */
  current: string;
  onDone: (user: LoggedIn) => void;
  /** `error`: a message for the password form, if any */
  onBack: (error: string | null) => void;
}

const TOGGLE = { 'aria-label': t`Show or hide the password`, tabIndex: 0 };

/** The form that replaces a one-time password by a new one, and completes the login. */
export function NewPasswordStep({ username, current, onDone, onBack }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const focusError = useFocusError(form);
  const field = useRef<HTMLInputElement>(null);
  const [fieldErrors, setFieldErrors] = useState<NewPasswordErrors>({});
  const [message, setMessage] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => field.current?.focus(), []);

  const showError = (reason: unknown): void => {
    const why = restartReason(reason);
    if (why !== null) {
      onBack(why);
      return;
    }
    const fresh = fieldMessage(reason, 'new_password');
    if (fresh) setFieldErrors({ fresh });
    else setMessage(errorMessage(reason));
    focusError();
  };

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const values = new FormData(event.currentTarget);
    const fresh = String(values.get('fresh'));
    const fieldErrors = checkNewPassword(current, fresh, String(values.get('again')));
    setFieldErrors(fieldErrors);
    setMessage(null);
    if (Object.keys(fieldErrors).length > 0) return focusError();
    setBusy(true);
    const body = { current_password: current, new_password: fresh };
    try {
      onDone(await unwrap(api.POST('/api/v1/login/password', { body })));
    } catch (reason) {
      showError(reason);
    } finally {
      setBusy(false);
    }
  };

  return (
    <form ref={form} method="post" onSubmit={(event) => void submit(event)} noValidate>
      <Stack gap="md">
        <div>
          <Title order={2} size="h4" mb={4}>
            <Trans>Choose a new password</Trans>
          </Title>
          <Text size="sm">
            <Trans>
              Your one-time password can't be used again. The new password is for the portal, SSH
              and everything else that uses your organization's directory.
            </Trans>
          </Text>
        </div>
        {message && <Notice tone="error">{message}</Notice>}
        <input
          type="text"
          name="username"
          value={username}
          autoComplete="username"
          hidden
          readOnly
        />
        <PasswordInput
          ref={field}
          name="fresh"
          label={t`New password`}
          description={t`At most ${{ most: MAX_PASSWORD_LENGTH }} characters, and not the one-time password. Your organization's directory may have more rules, such as a minimum length.`}
          autoComplete="new-password"
          size="md"
          visibilityToggleButtonProps={TOGGLE}
          error={fieldErrors.fresh}
          aria-invalid={fieldErrors.fresh !== undefined}
        />
        <PasswordInput
          name="again"
          label={t`New password again`}
          autoComplete="new-password"
          size="md"
          visibilityToggleButtonProps={TOGGLE}
          error={fieldErrors.again}
          aria-invalid={fieldErrors.again !== undefined}
        />
        <Button type="submit" size="md" fullWidth loading={busy}>
          <Trans>Change password and log in</Trans>
        </Button>
        <Text size="sm">
          <Anchor component="button" type="button" onClick={() => onBack(null)}>
            <Trans>Log in as another user</Trans>
          </Anchor>
        </Text>
      </Stack>
    </form>
  );
}

/** Return why the login has to start over: it has expired, or the password has changed since. */
function restartReason(reason: unknown): string | null {
  if (!(reason instanceof ApiError)) return null;
  if (reason.slug === 'login-required') return t`You took longer than five minutes. Log in again.`;
  if (reason.slug !== 'wrong-credentials') return null;
  return fieldMessage(reason, 'current_password')
    ? t`This password no longer works. Log in with your current one.`
    : errorMessage(reason);
}
