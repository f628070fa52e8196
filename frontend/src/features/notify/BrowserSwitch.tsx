import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useMe } from '@/features/account/useMe';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { show, turnOff, turnOn, useStanding } from './browser';

/** Whether this very browser tells, and the button that asks for its permission. */
export function BrowserSwitch() {
  const { username } = useMe();
  const standing = useStanding(username);
  const [silent, setSilent] = useState(false);

  const begin = async (): Promise<void> => {
    if (!(await turnOn(username))) return;
    const first = {
      key: 'turned on',
      title: 'The portal tells you here',
      body: 'You see this for as long as one of its pages is open.',
    };
    setSilent(!show(first, () => undefined));
  };

  if (standing === 'impossible')
    return (
      <Text size="sm">
        {window.isSecureContext
          ? 'This browser shows no notifications.'
          : 'Browsers show notifications only for pages that come over HTTPS, which this one does not.'}
      </Text>
    );
  if (standing === 'refused')
    return (
      <Notice tone="info">
        This browser refuses notifications from the portal. Allow them where the browser keeps its
        settings for this site, beside the address; this page notices.
      </Notice>
    );
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" component="p" m={0}>
          {standing === 'on'
            ? 'On in this browser, as long as a page of the portal is open in it.'
            : 'Off in this browser.'}
        </Text>
        {standing === 'on' ? (
          <Button variant="default" onClick={() => turnOff(username)}>
            Turn off here
          </Button>
        ) : (
          <Button leftSection={<Icon name="bell" />} onClick={() => void begin()}>
            Turn on here
          </Button>
        )}
      </Group>
      {silent && (
        <Notice tone="warning">
          This browser gave its permission, and shows nothing: phones show no notifications of mere
          pages. E-mails reach you there.
        </Notice>
      )}
    </Stack>
  );
}
