import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import classes from '@/features/login/LoginPage.module.css';
import { broadcastLoginEvent, onLoginEventFromOtherTabs } from '@/features/login/otherTabs';
import { meQuery, queryClient } from '@/lib/queries';
import { Enrolment } from './Enrolment';
import { logOut } from './logOut';
import { RecoveryCodes } from './RecoveryCodes';

/** The page that sets up the second factor of a user whose role requires one. They can't use other
 * pages before. */
export function EnrolPage() {
  const navigate = useNavigate();
  const [codes, setCodes] = useState<string[] | null>(null);
  useEffect(() => {
    document.title = `${t`Two-factor authentication`} · Data Scientist Portal`;
  }, []);

  const goIn = useCallback(async (): Promise<void> => {
    queryClient.clear();
    await navigate({ to: '/', replace: true });
  }, [navigate]);

  const enter = async (): Promise<void> => {
    await goIn();
    const me = queryClient.getQueryData(meQuery.queryKey);
    if (me) broadcastLoginEvent({ kind: 'logged-in', username: me.username });
  };

  // A login of another tab has nothing to set up here; the recovery codes are shown only once.
  const idle = codes === null;
  useEffect(
    () =>
      onLoginEventFromOtherTabs((event) => {
        if (idle && event.kind === 'logged-in') void goIn();
      }),
    [idle, goIn],
  );

  return (
    <main className={classes.page}>
      <Paper className={classes.card} shadow="sm">
        <Stack>
          <Title order={1} size="h3">
            {codes ? t`Your recovery codes` : t`Set up two-factor authentication`}
          </Title>
          {codes ? (
            <RecoveryCodes codes={codes} onDone={() => void enter()} />
          ) : (
            <>
              <Text size="sm">
                <Trans>
                  Your role requires two-factor authentication: from now on, a login needs your
                  password and a code from your phone.
                </Trans>
              </Text>
              <Enrolment onCodes={setCodes} />
              <Text size="sm">
                <Anchor component="button" type="button" onClick={() => void logOut()}>
                  <Trans>Log out</Trans>
                </Anchor>
              </Text>
            </>
          )}
        </Stack>
      </Paper>
    </main>
  );
}
