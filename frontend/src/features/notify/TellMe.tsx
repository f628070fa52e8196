import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { preferencesQuery } from '@/features/account/preferences';
import { useMe } from '@/features/account/useMe';
import { Icon } from '@/ui/icons';
import { turnOn, useStanding } from './browser';

/** For someone who waits for a session: the browser can tell them. Nothing where it can't. */
export function TellMe({ className }: { className?: string | undefined }) {
  const { username } = useMe();
  const standing = useStanding(username);
  const { data } = useQuery({ ...preferencesQuery, enabled: standing === 'on' });
  if (standing === 'off')
    return (
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Icon name="bell" size={16} />}
        onClick={() => void turnOn(username)}
      >
        <Trans>Tell me when it is ready</Trans>
      </Button>
    );
  if (standing !== 'on' || !data?.notify.browser.session_started) return null;
  return (
    <span className={className}>
      <Trans>Your browser tells you when it is ready.</Trans>
    </span>
  );
}
