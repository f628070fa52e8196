import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Paper, Skeleton, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { SecondFactor } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { navigation } from '@/lib/navigation';
import { useWithPassword } from '@/lib/reauth';
import classes from '@/ui/AccountSection.module.css';
import { DialogShell } from '@/ui/ConfirmDialog';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import { CodeForm } from './CodeForm';
import { Enrolment } from './Enrolment';
import { RecoveryCodes } from './RecoveryCodes';
import { renewRecoveryCodes, secondFactorQuery, turnOffSecondFactor } from './secondFactor';

type Dialog = 'enrol' | 'renew' | 'off' | { codes: string[] } | null;

function titleOf(dialog: Dialog): string {
  if (dialog === 'enrol') return t`Set up two-factor authentication`;
  if (dialog === 'off') return t`Turn off two-factor authentication?`;
  return dialog === 'renew' ? t`New recovery codes` : t`Your recovery codes`;
}

/** The section of the authenticator app, the login's second factor. */
export function SecondFactorSection() {
  const { data, error, refetch } = useQuery(secondFactorQuery);
  return (
    <Paper className={classes.section} component="section" aria-labelledby="second-factor">
      <Title order={2} size="h4" id="second-factor" mb="xs">
        <Term word="Two-factor authentication">{t`Two-factor authentication`}</Term>
      </Title>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={60} aria-label={t`Loading`} />}
      {data && <Status factor={data} />}
    </Paper>
  );
}

function Status({ factor }: { factor: SecondFactor }) {
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const [dialog, setDialog] = useState<Dialog>(null);

  const close = (): void => {
    setDialog(null);
    void queries.invalidateQueries(secondFactorQuery);
  };
  const off = async (code: string): Promise<void> => {
    await withPassword(() => turnOffSecondFactor(code));
    if (factor.required) await navigation().goToLogin('/account/second-factor');
    else close();
  };
  const renew = async (code: string): Promise<void> => {
    setDialog({ codes: await withPassword(() => renewRecoveryCodes(code)) });
  };

  return (
    <>
      {factor.reset_at && (
        <Notice tone="warning">
          <Trans>
            An administrator turned off your two-factor authentication,{' '}
            <Time at={factor.reset_at} />. If you did not request that, inform them and change your
            password.
          </Trans>
        </Notice>
      )}
      <Summary factor={factor} />
      <Acts enrolled={factor.enrolled_at !== null} open={setDialog} />
      <DialogShell opened={dialog !== null} onClose={close} title={titleOf(dialog)}>
        {dialog === 'enrol' && (
          <Enrolment onCodes={(codes) => setDialog({ codes })} onCancel={close} />
        )}
        {dialog === 'renew' && (
          <CodeForm
            text={t`The codes you have now stop working.`}
            button={t`Create new codes`}
            onCode={renew}
            onCancel={close}
          />
        )}
        {dialog === 'off' && (
          <CodeForm
            text={t`After that, your password alone is enough to log in.`}
            button={t`Turn off`}
            onCode={off}
            onCancel={close}
          />
        )}
        {typeof dialog === 'object' && dialog && (
          <RecoveryCodes codes={dialog.codes} onDone={close} />
        )}
      </DialogShell>
    </>
  );
}

interface ActsProps {
  enrolled: boolean;
  open: (dialog: Dialog) => void;
}

function Acts({ enrolled, open }: ActsProps) {
  return (
    <Group mt="md">
      {enrolled ? (
        <>
          <Button variant="default" onClick={() => open('renew')}>
            <Trans>New recovery codes…</Trans>
          </Button>
          <Button variant="default" onClick={() => open('off')}>
            <Trans>Turn off…</Trans>
          </Button>
        </>
      ) : (
        <Button onClick={() => open('enrol')}>
          <Trans>Set up…</Trans>
        </Button>
      )}
    </Group>
  );
}

function Summary({ factor }: { factor: SecondFactor }) {
  const { enrolled_at: since, recovery_codes_left: left } = factor;
  if (!since)
    return (
      <Text size="sm">
        <Trans>
          Off. With two-factor authentication, your password alone is not enough to log in: a login
          also requires a code from an app on your phone.
        </Trans>
      </Text>
    );
  return (
    <Text size="sm">
      {factor.required ? (
        <Trans>
          On since <Time at={since} />. {left} of 10 recovery codes left. Your role requires it.
        </Trans>
      ) : (
        <Trans>
          On since <Time at={since} />. {left} of 10 recovery codes left.
        </Trans>
      )}
    </Text>
  );
}
