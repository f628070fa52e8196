import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useMe } from '@/lib/useMe';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { showNotification, turnOff, turnOn, useNotifyState } from './browser';

/** Whether this browser shows notifications, and the button that asks for permission. */
export function BrowserSwitch() {
  const { username } = useMe();
  const standing = useNotifyState(username);
  const [silent, setSilent] = useState(false);

  const begin = async (): Promise<void> => {
    if (!(await turnOn(username))) return;
    const first = {
      key: 'turned on',
      title: t`The portal tells you here`,
      body: t`You see this for as long as one of its pages is open.`,
    };
    setSilent(!showNotification(first, () => undefined));
  };

  if (standing === 'impossible' || standing === 'forgetful')
    return <Text size="sm">{unavailableReason(standing)}</Text>;
  if (standing === 'refused')
    return (
      <Notice tone="info">
        <Trans>
          This browser refuses notifications from the portal. Allow them where the browser keeps its
          settings for this site, beside the address; this page notices.
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
            This browser gave its permission, and shows nothing: phones show no notifications of
            mere pages. E-mails reach you there.
          </Trans>
        </Notice>
      )}
    </Stack>
  );
}

function unavailableReason(standing: 'impossible' | 'forgetful'): string {
  if (standing === 'forgetful')
    return t`This browser keeps nothing for this site, so it can't remember whom to tell.`;
  return window.isSecureContext
    ? t`This browser shows no notifications.`
    : t`Browsers show notifications only for pages that come over HTTPS, which this one does not.`;
}
