import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { errorMessage, fieldMessage, wrongPassword } from '@/api/problem';
import { useWithPassword } from '@/lib/reauth';
import { useMe } from '@/lib/useMe';
import { useFocusError } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { Cancelled } from '@/ui/showError';

interface Props {
  onDone: () => void;
  /** only in a dialog */
  onCancel?: () => void;
}

type Errors = Partial<Record<'current' | 'fresh' | 'again', string>>;

function check(current: string, fresh: string, again: string): Errors {
  if (current === '') return { current: t`Enter your current password.` };
  if (fresh === '') return { fresh: t`Enter a new password.` };
  if (fresh === current) return { fresh: t`This is your current password.` };
  return fresh === again ? {} : { again: t`The two passwords are different.` };
}

export function PasswordForm({ onDone, onCancel }: Props) {
  const me = useMe();
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const focusError = useFocusError(form);
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Errors>({});
  const [message, setMessage] = useState<string | null>(null);

  const showError = (reason: unknown): void => {
    if (reason instanceof Cancelled) return;
    const current =
      wrongPassword(reason) ??
      fieldMessage(reason, 'current_password') ??
      fieldMessage(reason, 'password');
    const fresh = fieldMessage(reason, 'new_password');
    setErrors({ ...(current && { current }), ...(fresh && { fresh }) });
    setMessage(current || fresh ? null : errorMessage(reason));
    focusError();
  };

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const typed = new FormData(event.currentTarget);
    const [current, fresh, again] = ['current', 'fresh', 'again'].map((n) => String(typed.get(n)));
    const fieldErrors = check(current ?? '', fresh ?? '', again ?? '');
    setErrors(fieldErrors);
    setMessage(null);
    if (Object.keys(fieldErrors).length > 0) return focusError();
    setBusy(true);
    const body = { current_password: current ?? '', new_password: fresh ?? '' };
    try {
      // the current password also confirms the action
      await unwrap(api.POST('/api/v1/reauth', { body: { password: body.current_password } }));
      await withPassword(() => unwrap(api.POST('/api/v1/me/password', { body })));
      onDone();
    } catch (reason) {
      showError(reason);
    } finally {
      setBusy(false);
    }
  };

  const toggle = { 'aria-label': t`Show or hide the password` };
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        <Text size="sm" c="dimmed">
          <Trans>This changes your password in your organization's directory, not only here.</Trans>
        </Text>
        {message && <Notice tone="error">{message}</Notice>}
        <input type="text" value={me.username} autoComplete="username" hidden readOnly />
        <PasswordInput
          name="current"
          label={t`Current password`}
          autoComplete="current-password"
          data-autofocus={onCancel ? true : undefined}
          visibilityToggleButtonProps={toggle}
          error={errors.current}
          aria-invalid={errors.current !== undefined}
        />
        <PasswordInput
          name="fresh"
          label={t`New password`}
          description={t`Your organization's directory may have rules, such as a minimum length.`}
          autoComplete="new-password"
          visibilityToggleButtonProps={toggle}
          error={errors.fresh}
          aria-invalid={errors.fresh !== undefined}
        />
        <PasswordInput
          name="again"
          label={t`New password again`}
          autoComplete="new-password"
          visibilityToggleButtonProps={toggle}
          error={errors.again}
          aria-invalid={errors.again !== undefined}
        />
        <Group justify="flex-end">
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              <Trans>Cancel</Trans>
            </Button>
          )}
          <Button type="submit" loading={busy}>
            <Trans>Change password</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
