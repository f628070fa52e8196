import { Trans } from '@lingui/react/macro';
import { Text } from '@mantine/core';
import { CopyButton } from '@/ui/CopyButton';
import { Notice } from '@/ui/Notice';
import classes from './PasswordBox.module.css';
import type { OneTimePassword } from './types';

interface Props {
  username: string;
  password: OneTimePassword;
}

/** A one-time password, shown once, with instructions. */
export function PasswordBox({ username, password }: Props) {
  return (
    <div className={classes.box}>
      <Notice tone="warning">
        <Trans>
          Copy it now: it is not stored and not shown again. Until it is used, anyone who has it can
          log in as {username}.
        </Trans>
      </Notice>
      <div className={classes.row}>
        <code className={classes.password} data-testid="one-time-password">
          {password.password}
        </code>
        <CopyButton text={password.password} />
      </div>
      <Text size="sm">
        {password.must_change ? (
          <Trans>
            Give it to {username} in a way that no one else can read it. The first login here asks
            for it, and then for a new password that only they know.
          </Trans>
        ) : (
          <Trans>
            Give it to {username} in a way that no one else can read it. This directory doesn't
            require a new password: ask them to change it immediately, under “Change password” in
            the menu with their name.
          </Trans>
        )}
      </Text>
    </div>
  );
}
