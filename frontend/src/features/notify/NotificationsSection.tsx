import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Title, VisuallyHidden } from '@mantine/core';
import { sentence } from '@/api/problem';
import classes from '@/features/account/Account.module.css';
import { Notice } from '@/ui/Notice';
import { BrowserSwitch } from './BrowserSwitch';
import { KindBoxes } from './KindBoxes';
import { MailPart } from './MailPart';
import { useTold } from './useTold';

/** What one is told, and how. Each mark counts at once, in all browsers. */
export function NotificationsSection() {
  const { told, error, set, saved } = useTold();
  if (error && !told) return <Notice tone="error">{sentence(error)}</Notice>;
  return (
    <>
      <Paper className={classes.section} component="section" aria-labelledby="told-browser">
        <Title order={2} size="h4" id="told-browser" mb="sm">
          <Trans>In the browser</Trans>
        </Title>
        <BrowserSwitch />
        {told ? (
          <KindBoxes told={told.browser} onChange={(kind, on) => set('browser', kind, on)} />
        ) : (
          <Skeleton height={120} mt="md" aria-label={t`Loading`} />
        )}
      </Paper>
      <Paper className={classes.section} component="section" aria-labelledby="told-email">
        <Title order={2} size="h4" id="told-email" mb="sm">
          <Trans>By e-mail</Trans>
        </Title>
        {told ? (
          <MailPart told={told.email} onChange={(kind, on) => set('email', kind, on)} />
        ) : (
          <Skeleton height={120} aria-label={t`Loading`} />
        )}
      </Paper>
      <VisuallyHidden role="status">{saved ? t`Saved.` : ''}</VisuallyHidden>
    </>
  );
}
