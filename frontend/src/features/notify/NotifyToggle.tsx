import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { preferencesQuery } from '@/features/preferences/preferences';
import { useMe } from '@/lib/useMe';
import { Icon } from '@/ui/icons';
import { turnOn, useNotifyState } from './browser';

/** An offer of a browser notification while a session is pending; empty if the browser has none. */
export function NotifyToggle({ className }: { className?: string | undefined }) {
  const { username } = useMe();
  const standing = useNotifyState(username);
  const { data } = useQuery({ ...preferencesQuery, enabled: standing === 'on' });
  if (standing === 'off')
    return (
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Icon name="bell" size={16} />}
        onClick={() => void turnOn(username)}
      >
        <Trans>Notify me when it is ready</Trans>
      </Button>
    );
  if (standing !== 'on' || !data?.notify.browser.session_started) return null;
  return (
    <span className={className}>
      <Trans>Your browser notifies you when it is ready.</Trans>
    </span>
  );
}
