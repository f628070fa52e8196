import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { sentence } from '@/api/problem';
import { CodeField } from '@/features/login/CodeField';
import {
  beginEnrolment,
  codeRefusal,
  confirmEnrolment,
  formatSecret,
} from '@/features/login/secondFactor';
import { useWithPassword } from '@/lib/reauth';
import classes from '@/ui/AccountSection.module.css';
import { useFocusProblem } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { Cancelled } from '@/ui/showError';

interface Props {
  onCodes: (codes: string[]) => void;
  onCancel?: () => void;
}

/** The setup of an authenticator app: scan, then enter a code to confirm. */
export function Enrolment({ onCodes, onCancel }: Props) {
  const withPassword = useWithPassword();
  const { data, error } = useQuery({
    queryKey: ['second-factor', 'enrolment'],
    queryFn: () => withPassword(beginEnrolment),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const form = useRef<HTMLFormElement>(null);
  const focusProblem = useFocusProblem(form);
  const [code, setCode] = useState('');
  const [refusal, setRefusal] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const refuse = (why: string): void => {
    setRefusal(why);
    focusProblem();
  };

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    if (code.trim() === '') return refuse(t`Enter the code that your app shows.`);
    setBusy(true);
    try {
      onCodes(await withPassword(() => confirmEnrolment(code)));
    } catch (reason) {
      if (!(reason instanceof Cancelled)) refuse(codeRefusal(reason));
    } finally {
      setBusy(false);
    }
  };

  const secret = data ? formatSecret(data.secret) : '';

  if (error) {
    const why =
      error instanceof Cancelled ? t`This requires your password. Start again.` : sentence(error);
    return <Notice tone="error">{why}</Notice>;
  }
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        <Text size="sm">
          <Trans>
            Scan this code with any authenticator app on your phone. Then enter the six digits that
            the app shows.
          </Trans>
        </Text>
        {data ? (
          <img className={classes.qr} src={data.qr} alt={t`QR code for your authenticator app`} />
        ) : (
          <Skeleton height={220} width={220} mx="auto" aria-label={t`Loading`} />
        )}
        {data && (
          <Text size="sm" c="dimmed">
            <Trans>
              Can't scan it? Type this into the app:{' '}
              <code className={classes.secret}>{secret}</code>
            </Trans>
          </Text>
        )}
        <CodeField label={t`Verification code`} value={code} onChange={setCode} error={refusal} />
        <Group justify="flex-end">
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              <Trans>Cancel</Trans>
            </Button>
          )}
          <Button type="submit" loading={busy} disabled={!data}>
            <Trans>Turn on</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
