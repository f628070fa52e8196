import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useMe } from '@/lib/useMe';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import classes from '@/ui/DetailPage.module.css';
import { focusPageIfLost } from '@/ui/focus';
import { enableUser, lockUser, unlockUser } from './actions';
import { DeleteDialog } from './DeleteDialog';
import { DisableDialog } from './DisableDialog';
import { EditDialog } from './EditDialog';
import { type Act, actsFor } from './labels';
import { PasswordReset } from './PasswordReset';
import type { User } from './types';

const LABELS: Record<Act, string> = {
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
  /** which dialog is open */
  dialog: Act | null;
  setDialog: (act: Act | null) => void;
}

/** What an administrator may do about someone just now: what can't be done has no button. */
export function UserActions({ user, dialog, setDialog }: ActionsProps) {
  const me = useMe();
  const acts = actsFor(user, me.username);
  useFocusKept(acts.join(' '));
  if (acts.length === 0) return null;
  const at = (act: Act) => ({
    user,
    opened: dialog === act,
    onClose: () => setDialog(null),
  });
  return (
    <>
      <div className={classes.actions}>
        {acts.map((act) => (
          <Button
            key={act}
            variant="default"
            {...(act === 'disable' || act === 'delete' ? { c: 'var(--bad)' } : {})}
            onClick={() => setDialog(act)}
          >
            {LABELS[act]}
          </Button>
        ))}
      </div>
      <EditDialog {...at('edit')} />
      <PasswordReset {...at('password')} />
      <DisableDialog {...at('disable')} />
      <DeleteDialog {...at('delete')} />
      <SmallDialogs at={at} user={user} />
    </>
  );
}

/** A button that goes, for what it did has been done, leaves the focus to the page. */
function useFocusKept(acts: string): void {
  const before = useRef(acts);
  useEffect(() => {
    if (before.current !== acts) focusPageIfLost();
    before.current = acts;
  }, [acts]);
}

interface Small {
  user: User;
  at: (act: Act) => { opened: boolean; onClose: () => void };
}

/** Those that ask nothing but whether. */
function SmallDialogs({ user, at }: Small) {
  const { username } = user;
  const opened = (act: Act) => ({ opened: at(act).opened, onClose: at(act).onClose });
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
            {username} can log in again with the previous password and shell. Sessions and jobs that
            were ended don't come back, and access tokens must be created again.
          </Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}
