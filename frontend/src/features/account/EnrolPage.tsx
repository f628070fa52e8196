import '@/app/styles-shell';
import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { queryClient } from '@/app/queries';
import { goToLogin } from '@/app/router';
import classes from '@/features/login/LoginPage.module.css';
import { complain } from '@/ui/complain';
import { Enrolment } from './Enrolment';
import { RecoveryCodes } from './RecoveryCodes';

async function logOut(): Promise<void> {
  try {
    await unwrap(api.POST('/api/v1/logout'));
    await goToLogin('/');
  } catch (error) {
    complain(error);
  }
}

/** For someone whose role needs a second factor and who has none: until then nothing else works. */
export function EnrolPage() {
  const navigate = useNavigate();
  const [codes, setCodes] = useState<string[] | null>(null);
  useEffect(() => {
    document.title = 'Second factor · Data Scientist Portal';
  }, []);

  const enter = (): void => {
    queryClient.clear();
    void navigate({ to: '/', replace: true });
  };

  return (
    <main className={classes.page}>
      <Paper className={classes.card} shadow="sm">
        <Stack>
          <Title order={1} size="h3">
            {codes ? 'Your recovery codes' : 'Set up a second factor'}
          </Title>
          {codes ? (
            <RecoveryCodes codes={codes} onDone={enter} />
          ) : (
            <>
              <Text size="sm">
                Your role needs one: from now on a login takes your password and a code of your
                phone.
              </Text>
              <Enrolment onCodes={setCodes} />
              <Text size="sm">
                <Anchor component="button" type="button" onClick={() => void logOut()}>
                  Log out
                </Anchor>
              </Text>
            </>
          )}
        </Stack>
      </Paper>
    </main>
  );
}
