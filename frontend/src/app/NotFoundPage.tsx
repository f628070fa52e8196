import { Button, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Logo } from '@/ui/Logo';
import { PageTitle } from './PageTitle';
import classes from './plain.module.css';

/** For addresses nobody lives at. */
export function NotFoundPage() {
  return (
    <div className={classes.center}>
      <Stack align="flex-start" gap="md" maw={440}>
        <Logo size={44} />
        <PageTitle tab="Page not found">There is nothing at this address</PageTitle>
        <Text c="dimmed">
          The link may be old, or a letter got lost. Everything of yours is reached from the home
          page.
        </Text>
        <Button component={Link} to="/">
          Go to the home page
        </Button>
      </Stack>
    </div>
  );
}
