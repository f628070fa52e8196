import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Text } from '@mantine/core';
import { useState } from 'react';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import classes from '@/ui/DetailPage.module.css';
import { resetSecondFactor } from './actions';
import { isDeleted } from './labels';
import type { User } from './types';

/** The state of a user's second factor, and its reset for a lost device. */
export function SecondFactorBox({ user }: { user: User }) {
  const me = useMe();
  const [confirming, setConfirming] = useState(false);
  const { username } = user;
  return (
    <Paper component="section" className={classes.box} aria-labelledby="factor">
      <h2 className={classes.heading} id="factor">
        <Trans>Two-factor authentication</Trans>
      </h2>
      <p className={user.second_factor ? classes.line : classes.quiet}>
        {user.second_factor
          ? t`On: each login asks for a code from their app.`
          : t`Off: the password alone opens the account.`}
      </p>
      {user.second_factor && mayChange(me) && !isDeleted(user) && (
        <Button variant="default" onClick={() => setConfirming(true)}>
          <Trans>Remove it…</Trans>
        </Button>
      )}
      <ConfirmDialog
        opened={confirming}
        onClose={() => setConfirming(false)}
        title={t`Remove two-factor authentication of ${username}?`}
        act={() => resetSecondFactor(username)}
        button={t`Remove it`}
        danger
      >
        <Text size="sm">
          <Trans>
            For users who have lost their phone and their recovery codes: verify that the request
            comes from them. Until they set it up again, the password alone opens the account. At
            their next login they are notified that you did this.
          </Trans>
        </Text>
      </ConfirmDialog>
    </Paper>
  );
}
