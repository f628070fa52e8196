import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Session } from '@/api/types';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { removeSession } from './actions';
import classes from './SessionCard.module.css';
import { FITTING, TerminalItems } from './TerminalMenu';

/** The menu of a session's card: the actions that the session's state allows and that have no button. */
export function SessionMenu({ session }: { session: Session }) {
  const [busy, run] = useAction();
  const { id, name, state, url } = session;
  return (
    <Menu position="bottom-start" width={300} shadow="md" middlewares={FITTING}>
      <Menu.Target>
        <ActionIcon
          variant="default"
          size="input-sm"
          loading={busy}
          aria-label={t`Actions of ${name}`}
        >
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown className={classes.terminals}>
        <Menu.Item component={Link} to={`/sessions/${id}/log`} leftSection={<Icon name="log" />}>
          <Trans>Log</Trans>
        </Menu.Item>
        {session.started_at && (
          <Menu.Item
            component="a"
            href={`/sessions/${id}/tensorboard`}
            target="_blank"
            rel="noopener"
            leftSection={<Icon name="chart" />}
          >
            TensorBoard
          </Menu.Item>
        )}
        {state === 'ended' && (
          <Menu.Item
            leftSection={<Icon name="trash" />}
            onClick={() => void run(() => removeSession(id))}
          >
            <Trans>Remove</Trans>
          </Menu.Item>
        )}
        {state !== 'ended' && url && (
          <>
            <Menu.Label>
              <Trans>Terminal</Trans>
            </Menu.Label>
            <TerminalItems session={session} url={url} />
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
