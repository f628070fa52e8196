import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon, Button, Menu, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useMe } from '@/lib/useMe';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import classes from '@/ui/DetailPage.module.css';
import { focusPageIfLost } from '@/ui/focus';
import { Icon } from '@/ui/icons';
import { enableUser, lockUser, unlockUser } from './actions';
import { DeleteDialog } from './DeleteDialog';
import { DisableDialog } from './DisableDialog';
import { EditDialog } from './EditDialog';
import { actionsFor, type UserAction } from './labels';
import { PasswordReset } from './PasswordReset';
import type { User } from './types';

const LABELS: Record<UserAction, string> = {
  edit: t`Edit…`,
  password: t`Reset password…`,
  lock: t`Lock…`,
  unlock: t`Unlock…`,
  disable: t`Disable…`,
  enable: t`Enable…`,
  delete: t`Delete…`,
};

interface ActionsProps {
  user: User;
  /** the open dialog */
  dialog: UserAction | null;
  setDialog: (action: UserAction | null) => void;
}

/** The first of these that is possible gets the button: what lets a locked-out user log in again, else
 * editing. All others are in the menu. */
const BUTTON_ACTIONS: readonly UserAction[] = ['enable', 'unlock', 'edit'];

/** The actions on a user; those that are not possible now are left out. */
export function UserActions({ user, dialog, setDialog }: ActionsProps) {
  const me = useMe();
  const acts = actionsFor(user, me.username);
  useFocusKept(acts.join(' '));
  if (acts.length === 0) return null;
  const first = BUTTON_ACTIONS.find((action) => acts.includes(action));
  const others = acts.filter((action) => action !== first);
  const dialogProps = (action: UserAction) => ({
    user,
    opened: dialog === action,
    onClose: () => setDialog(null),
  });
  return (
    <>
      <div className={classes.actions}>
        {first && <Button onClick={() => setDialog(first)}>{LABELS[first]}</Button>}
        {others.length > 0 && (
          <Menu position="bottom-start" width={220} shadow="md">
            <Menu.Target>
              <ActionIcon variant="default" size="input-sm" aria-label={t`More actions`}>
                <Icon name="more" />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {others.map((action) => (
                <Menu.Item
                  key={action}
                  {...(action === 'disable' || action === 'delete' ? { c: 'var(--bad)' } : {})}
                  onClick={() => setDialog(action)}
                >
                  {LABELS[action]}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
      </div>
      <EditDialog {...dialogProps('edit')} />
      <PasswordReset {...dialogProps('password')} />
      <DisableDialog {...dialogProps('disable')} />
      <DeleteDialog {...dialogProps('delete')} />
      <SmallDialogs dialogProps={dialogProps} user={user} />
    </>
  );
}

/** Move the focus to the page when a button disappears because its action is done. */
function useFocusKept(acts: string): void {
  const before = useRef(acts);
  useEffect(() => {
    if (before.current !== acts) focusPageIfLost();
    before.current = acts;
  }, [acts]);
}

interface Small {
  user: User;
  dialogProps: (action: UserAction) => { opened: boolean; onClose: () => void };
}

/** The dialogs that only ask for confirmation. */
function SmallDialogs({ user, dialogProps }: Small) {
  const { username } = user;
  const opened = (action: UserAction) => ({
    opened: dialogProps(action).opened,
    onClose: dialogProps(action).onClose,
  });
  return (
    <>
      <ConfirmDialog
        {...opened('lock')}
        title={t`Lock ${username}?`}
        act={() => lockUser(username)}
        button={t`Lock`}
      >
        <Text size="sm">
          <Trans>
            Until you unlock the account, the directory rejects every password, even the correct
            one. Existing logins, SSH keys and running jobs are not affected: to end all of them,
            disable the account.
          </Trans>
        </Text>
      </ConfirmDialog>
      <ConfirmDialog
        {...opened('unlock')}
        title={t`Unlock ${username}?`}
        act={() => unlockUser(username)}
        button={t`Unlock`}
      >
        <Text size="sm">
          <Trans>
            The current password works again immediately. A user who has forgotten it also needs a
            new one.
          </Trans>
        </Text>
      </ConfirmDialog>
      <ConfirmDialog
        {...opened('enable')}
        title={t`Enable ${username} again?`}
        act={() => enableUser(username)}
        button={t`Enable`}
      >
        <Text size="sm">
          <Trans>
            {username} can log in again. The password and login shell are the same as before.
            Sessions and jobs that were ended don't come back, and access tokens must be created
            again.
          </Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}
