import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Logo } from './Logo';
import { PageTitle } from './PageTitle';
import classes from './PlainPage.module.css';

/** A page outside of the frame of other pages, so it brings its own `main`. */
export function UnknownAddress() {
  return (
    <main>
      <NotFoundPage />
    </main>
  );
}

/** The page for unknown addresses. */
export function NotFoundPage() {
  return (
    <div className={classes.center}>
      <Stack align="flex-start" gap="md" maw={440}>
        <Logo size={44} />
        <PageTitle tab={t`Page not found`}>
          <Trans>There is nothing at this address</Trans>
        </PageTitle>
        <Text c="dimmed">
          <Trans>
            The link may be outdated or incomplete. You can reach everything from the home page.
          </Trans>
        </Text>
        <Button component={Link} to="/">
          <Trans>Go to the home page</Trans>
        </Button>
      </Stack>
    </div>
  );
}
