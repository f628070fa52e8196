import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Menu } from '@mantine/core';
import type { Session } from '@/api/types';
import { translate } from '@/i18n/translate';
import { minutesAsTime } from '@/lib/time';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { extendSession } from './actions';
import { extensionChoices } from './extend';

/** The menu that extends a session, or the reason why that is not possible. */
export function ExtendMenu({ session }: { session: Session }) {
  const [busy, run] = useAction();
  const { extension } = session;
  if (extension === null) return null;
  return (
    <Menu position="bottom-end" width={260} shadow="md">
      <Menu.Target>
        <Button
          size="compact-xs"
          variant="subtle"
          loading={busy}
          rightSection={<Icon name="down" size={12} />}
          aria-label={t`More time for ${{ name: session.name }}`}
        >
          <Trans>More time</Trans>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {extension.reason && <Menu.Label>{translate(extension.reason)}</Menu.Label>}
        {extensionChoices(extension.minutes).map((minutes) => (
          <Menu.Item
            key={minutes}
            onClick={() => void run(() => extendSession(session.id, minutes))}
          >
            {t`${{ time: minutesAsTime(minutes) }} more`}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
