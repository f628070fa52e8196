import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useMe } from '@/lib/useMe';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { showNotification, turnOff, turnOn, useNotifyState } from './browser';

/** The state of notifications in this browser, and the button that asks for permission. */
export function BrowserSwitch() {
  const { username } = useMe();
  const standing = useNotifyState(username);
  const [silent, setSilent] = useState(false);

  const begin = async (): Promise<void> => {
    if (!(await turnOn(username))) return;
    const first = {
      key: 'turned on',
      title: t`The portal notifies you here`,
      body: t`You see this as long as a page of the portal is open.`,
    };
    setSilent(!showNotification(first, () => undefined));
  };

  if (standing === 'impossible' || standing === 'forgetful')
    return <Text size="sm">{unavailableReason(standing)}</Text>;
  if (standing === 'refused')
    return (
      <Notice tone="info">
        <Trans>
          This browser blocks notifications from the portal. Allow them in the site settings next to
          the address bar; this page updates automatically.
        </Trans>
      </Notice>
    );
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" component="p" m={0}>
          {standing === 'on'
            ? t`On in this browser, as long as a page of the portal is open in it.`
            : t`Off in this browser.`}
        </Text>
        {standing === 'on' ? (
          <Button variant="default" onClick={() => turnOff(username)}>
            <Trans>Turn off here</Trans>
          </Button>
        ) : (
          <Button leftSection={<Icon name="bell" />} onClick={() => void begin()}>
            <Trans>Turn on here</Trans>
          </Button>
        )}
      </Group>
      {silent && (
        <Notice tone="warning">
          <Trans>
            Notifications are allowed, but this browser doesn't show them: phones don't show
            notifications from web pages. Use e-mail notifications instead.
          </Trans>
        </Notice>
      )}
    </Stack>
  );
}

function unavailableReason(standing: 'impossible' | 'forgetful'): string {
  if (standing === 'forgetful')
    return t`This browser doesn't store data for this site, so notifications can't be turned on.`;
  return window.isSecureContext
    ? t`This browser shows no notifications.`
    : t`Browsers show notifications only for pages loaded over HTTPS, and this page is not.`;
}
