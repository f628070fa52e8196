import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack, Text } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { errorMessage } from '@/api/problem';
import { useLive } from '@/live/store';
import { PageTitle } from '@/ui/PageTitle';
import classes from '@/ui/PlainPage.module.css';

/** An error page outside of the frame of other pages, so it brings its own `main`. */
export function NothingToShow({ error }: { error: unknown }) {
  return (
    <main>
      <ErrorPage error={error} />
    </main>
  );
}

/** Load the page again once the network or the event stream is back. */
function useRetryOnReconnect(): void {
  const router = useRouter();
  const connection = useLive((s) => s.connection);
  const before = useRef(connection);
  useEffect(() => {
    if (connection === 'open' && before.current !== 'open') void router.invalidate();
    before.current = connection;
  }, [connection, router]);
  useEffect(() => {
    const retry = (): void => void router.invalidate();
    window.addEventListener('online', retry);
    return () => window.removeEventListener('online', retry);
  }, [router]);
}

/** The page shown when another could not be loaded, mostly because the portal doesn't answer. */
export function ErrorPage({ error }: { error: unknown }) {
  const router = useRouter();
  useRetryOnReconnect();
  return (
    <div className={classes.center}>
      <Stack align="flex-start" gap="md" maw={480}>
        <PageTitle tab={t`Error`}>
          <Trans>This page can't be shown</Trans>
        </PageTitle>
        <Text role="alert">{errorMessage(error)}</Text>
        <Text c="dimmed" size="sm">
          <Trans>Your sessions and jobs on the cluster keep running.</Trans>
        </Text>
        <Button onClick={() => void router.invalidate()}>
          <Trans>Try again</Trans>
        </Button>
      </Stack>
    </div>
  );
}
