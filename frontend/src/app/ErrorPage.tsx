import { Button, Stack, Text } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { sentence } from '@/api/problem';
import { PageTitle } from './PageTitle';
import classes from './plain.module.css';

/** For a page that could not be shown: mostly a portal that doesn't answer just now. */
export function ErrorPage({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <div className={classes.center}>
      <Stack align="flex-start" gap="md" maw={480}>
        <PageTitle tab="Trouble">This page can't be shown just now</PageTitle>
        <Text role="alert">{sentence(error)}</Text>
        <Text c="dimmed" size="sm">
          Whatever you have running on the cluster goes on.
        </Text>
        <Button onClick={() => void router.invalidate()}>Try again</Button>
      </Stack>
    </div>
  );
}
