import { Trans } from '@lingui/react/macro';
import { Button, Stack } from '@mantine/core';
import { Notice } from './Notice';

/** An error of fetching, with a button to retry. */
export function TryAgain({ error, onRetry }: { error: string; onRetry: () => void }) {
  return (
    <Stack align="flex-start" gap="sm">
      <Notice tone="error">{error}</Notice>
      <Button variant="default" onClick={onRetry}>
        <Trans>Try again</Trans>
      </Button>
    </Stack>
  );
}
