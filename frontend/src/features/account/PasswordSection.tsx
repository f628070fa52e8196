import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import classes from '@/ui/AccountSection.module.css';
import { PasswordForm } from './PasswordForm';

/** The section that changes the directory's password. */
export function PasswordSection() {
  const [times, setTimes] = useState(0);
  const done = (): void => {
    setTimes(times + 1); // remount an empty form
    notifications.show({
      message: t`Your password is changed. Use the new one everywhere you log in with this account.`,
      role: 'status',
    });
  };
  return (
    <Paper className={classes.section} component="section" aria-labelledby="password">
      <Title order={2} size="h4" id="password" mb="xs">
        <Trans>Password</Trans>
      </Title>
      <div className={classes.narrow}>
        <PasswordForm key={times} onDone={done} />
      </div>
    </Paper>
  );
}
