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
          In the browser
        </Title>
        <BrowserSwitch />
        {told ? (
          <KindBoxes told={told.browser} onChange={(kind, on) => set('browser', kind, on)} />
        ) : (
          <Skeleton height={120} mt="md" aria-label="Loading" />
        )}
      </Paper>
      <Paper className={classes.section} component="section" aria-labelledby="told-email">
        <Title order={2} size="h4" id="told-email" mb="sm">
          By e-mail
        </Title>
        {told ? (
          <MailPart told={told.email} onChange={(kind, on) => set('email', kind, on)} />
        ) : (
          <Skeleton height={120} aria-label="Loading" />
        )}
      </Paper>
      <VisuallyHidden role="status">{saved ? 'Saved.' : ''}</VisuallyHidden>
    </>
  );
}
