import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '@/ui/icons';
import classes from './HomePage.module.css';

/** The home page without sessions and jobs: explains sessions, and offers the next step. */
export function EmptyHome({ first }: { first: boolean }) {
  return (
    <Paper className={classes.empty}>
      <Stack align="flex-start" gap="sm">
        <Title order={2} size="h4">
          {first ? t`Start your first session` : t`Nothing is running`}
        </Title>
        <Text c="dimmed" maw={480}>
          <Trans>
            A session is JupyterLab on a node of the cluster, with the GPUs you choose. It keeps
            running when you close the browser, until you stop it or its time is up.
          </Trans>
        </Text>
        <Button component={Link} to="/start" size="md" mt="xs" leftSection={<Icon name="play" />}>
          <Trans>Start a session</Trans>
        </Button>
      </Stack>
    </Paper>
  );
}
