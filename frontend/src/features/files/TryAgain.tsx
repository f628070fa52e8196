import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { Notice } from '@/ui/Notice';
import classes from './Files.module.css';

/** What could not be had, and the button that asks once more. */
export function TryAgain({ error, again }: { error: string; again: () => void }) {
  return (
    <div className={classes.stack}>
      <Notice tone="error">{error}</Notice>
      <div>
        <Button variant="default" onClick={again}>
          <Trans>Try again</Trans>
        </Button>
      </div>
    </div>
  );
}
