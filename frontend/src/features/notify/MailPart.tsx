import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { MyMail } from '@/api/types';
import { translate } from '@/i18n/translate';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import { KindBoxes } from './KindBoxes';
import type { Kind } from './notifications';
import { mailQuery, sendTestMail } from './queries';
import type { KindChoices } from './useNotifySettings';

interface Props {
  choices: KindChoices;
  onChange: (kind: Kind, on: boolean) => void;
}

/** The e-mail settings: on or off, the address, and the events. */
export function MailPart({ choices, onChange }: Props) {
  const { data, error, refetch } = useQuery(mailQuery);
  if (error && !data)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={100} aria-label={t`Loading`} />;
  if (!data.configured)
    return (
      <Text size="sm">
        <Trans>
          This portal sends no e-mails. Your administrators can set up a mail server for it.
        </Trans>
      </Text>
    );
  if (data.address === null)
    return (
      <Text size="sm">
        <Trans>
          The directory has no e-mail address for you. Ask your administrators to add one.
        </Trans>
      </Text>
    );
  return (
    <>
      <Trial mail={data} address={data.address} />
      <KindBoxes choices={choices} onChange={onChange} />
      <Text size="sm" c="dimmed" mt="md">
        <Trans>What happens within the same minute comes in one e-mail.</Trans>
      </Text>
    </>
  );
}

/** The address, the result of the last e-mail, and a button to send a test. */
function Trial({ mail, address }: { mail: MyMail; address: string }) {
  const [busy, setBusy] = useState(false);
  const problem = translate(mail.problem);
  const [message, setMessage] = useState<string | null>(null);

  const send = async (): Promise<void> => {
    setBusy(true);
    setMessage(null);
    try {
      await sendTestMail();
      notifications.show({
        message: t`The mail server has accepted it. Check the inbox of ${address}.`,
        role: 'status',
      });
    } catch (reason) {
      setMessage(errorMessage(reason));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <div>
          <Text size="sm" component="p" m={0}>
            <Trans>
              They go to <strong>{address}</strong>.
            </Trans>
          </Text>
          {mail.last_sent_at && (
            <Text size="sm" c="dimmed">
              <Trans>
                The last one was sent <Time at={mail.last_sent_at} />.
              </Trans>
            </Text>
          )}
        </div>
        <Button variant="default" loading={busy} onClick={() => void send()}>
          <Trans>Send me a test e-mail</Trans>
        </Button>
      </Group>
      {message && <Notice tone="error">{message}</Notice>}
      {!message && mail.problem && mail.problem_at && (
        <Notice tone="warning">
          <Trans>
            An e-mail sent to you <Time at={mail.problem_at} /> was rejected. Answer of the mail
            server: {problem}
          </Trans>
        </Notice>
      )}
    </Stack>
  );
}
