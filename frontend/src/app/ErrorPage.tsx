import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack, Text } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { sentence } from '@/api/problem';
import { PageTitle } from '@/ui/PageTitle';
import classes from '@/ui/PlainPage.module.css';

/** Stands alone, outside the frame of all other pages, whose `main` it therefore has to bring. */
export function NothingToShow({ error }: { error: unknown }) {
  return (
    <main>
      <ErrorPage error={error} />
    </main>
  );
}

/** For a page that could not be shown, mostly because the portal doesn't answer. */
export function ErrorPage({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <div className={classes.center}>
      <Stack align="flex-start" gap="md" maw={480}>
        <PageTitle tab={t`Error`}>
          <Trans>This page can't be shown</Trans>
        </PageTitle>
        <Text role="alert">{sentence(error)}</Text>
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
