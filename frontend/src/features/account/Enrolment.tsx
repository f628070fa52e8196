import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import { CodeField } from '@/features/login/CodeField';
import { useWithPassword } from '@/lib/reauth';
import classes from '@/ui/AccountSection.module.css';
import { Notice } from '@/ui/Notice';
import { RecordForm } from '@/ui/RecordForm';
import { Cancelled } from '@/ui/showError';
import { useCodeForm } from './CodeForm';
import { beginEnrolment, confirmEnrolment, formatSecret } from './secondFactor';

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
  const form = useCodeForm(t`Enter the code that your app shows.`, async (code) =>
    onCodes(await withPassword(() => confirmEnrolment(code))),
  );
  const secret = data ? formatSecret(data.secret) : '';

  if (error) {
    const why =
      error instanceof Cancelled ? t`This requires your password. Try again.` : errorMessage(error);
    return <Notice tone="error">{why}</Notice>;
  }
  return (
    <RecordForm form={form} onCancel={onCancel} button={<Trans>Turn on</Trans>} disabled={!data}>
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
            Can't scan it? Type this into the app: <code className={classes.secret}>{secret}</code>
          </Trans>
        </Text>
      )}
      <CodeField
        label={t`Verification code`}
        value={form.values.code}
        onChange={(code) => form.set({ code })}
        error={form.error('code') ?? null}
      />
    </RecordForm>
  );
}
