import { Button, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '@/ui/icons';
import classes from './HomePage.module.css';

/** Nothing runs: says what a session is, and offers the next step. */
export function EmptyHome({ first }: { first: boolean }) {
  return (
    <Paper className={classes.empty}>
      <Stack align="flex-start" gap="sm">
        <Title order={2} size="h4">
          {first ? 'Start your first session' : 'Nothing is running'}
        </Title>
        <Text c="dimmed" maw={480}>
          A session is JupyterLab on a node of the cluster, with the GPUs you choose. It keeps
          running when you close the browser, until you stop it or its time is up.
        </Text>
        <Button component={Link} to="/start" size="md" mt="xs" leftSection={<Icon name="play" />}>
          Start a session
        </Button>
      </Stack>
    </Paper>
  );
}
