import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Skeleton, Title, VisuallyHidden } from '@mantine/core';
import { errorMessage } from '@/api/problem';
import classes from '@/ui/AccountSection.module.css';
import { TryAgain } from '@/ui/TryAgain';
import { BrowserSwitch } from './BrowserSwitch';
import { KindBoxes } from './KindBoxes';
import { MailPart } from './MailPart';
import { useNotifySettings } from './useNotifySettings';

/** The user's notification settings. Each choice is saved at once and applies in all browsers;
 * `BrowserSwitch` applies to this one only. */
export function NotificationsSection() {
  const { choices, error, retry, set, saved } = useNotifySettings();
  if (error && !choices) return <TryAgain error={errorMessage(error)} onRetry={retry} />;
  return (
    <>
      <Paper className={classes.section} component="section" aria-labelledby="notify-browser">
        <Title order={2} size="h4" id="notify-browser" mb="sm">
          <Trans>In the browser</Trans>
        </Title>
        <BrowserSwitch />
        {choices ? (
          <KindBoxes choices={choices.browser} onChange={(kind, on) => set('browser', kind, on)} />
        ) : (
          <Skeleton height={120} mt="md" aria-label={t`Loading`} />
        )}
      </Paper>
      <Paper className={classes.section} component="section" aria-labelledby="notify-email">
        <Title order={2} size="h4" id="notify-email" mb="sm">
          <Trans>By e-mail</Trans>
        </Title>
        {choices ? (
          <MailPart choices={choices.email} onChange={(kind, on) => set('email', kind, on)} />
        ) : (
          <Skeleton height={120} aria-label={t`Loading`} />
        )}
      </Paper>
      <VisuallyHidden role="status">{saved ? t`Saved.` : ''}</VisuallyHidden>
    </>
  );
}
