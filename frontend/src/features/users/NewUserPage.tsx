import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Paper, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { AdminFrame } from '@/features/admin/AdminFrame';
import { displayNameOf } from '@/features/directory/names';
import { joinWithCommas } from '@/i18n/lists';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import classes from '@/ui/DetailPage.module.css';
import { Notice } from '@/ui/Notice';
import { NewUserForm } from './NewUserForm';
import { PasswordBox } from './PasswordBox';
import type { User } from './types';
import type { CreatedUser } from './useNewUser';

/** The page that creates a user. */
export function NewUserPage() {
  return (
    <AdminFrame tab={t`New user`} title={t`New user`}>
      <Body />
    </AdminFrame>
  );
}

function Body() {
  const me = useMe();
  const [created, setCreated] = useState<CreatedUser | null>(null);
  if (!mayChange(me))
    return (
      <Notice tone="info">
        <Trans>Only administrators can create users. You have read access.</Trans>
      </Notice>
    );
  return created ? (
    <CreatedUserBox created={created} onAnother={() => setCreated(null)} />
  ) : (
    <NewUserForm onCreated={setCreated} />
  );
}

function CreatedUserBox({ created, onAnother }: { created: CreatedUser; onAnother: () => void }) {
  const { user, password } = created;
  const { username } = user;
  const name = displayNameOf(user);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <Paper className={classes.box}>
      <h2 className={classes.heading} ref={heading} tabIndex={-1}>
        <Trans>{name} is in the directory</Trans>
      </h2>
      <Stack className={classes.wide}>
        <p className={classes.line}>
          <CreatedText user={user} />
        </p>
        <PasswordBox username={username} password={password} />
        <Group>
          <Button
            renderRoot={(props) => (
              <Link {...props} to="/admin/users/$username" params={{ username }} />
            )}
          >
            <Trans>Go to {username}</Trans>
          </Button>
          <Button variant="default" onClick={onAnother}>
            <Trans>Create another user</Trans>
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

function CreatedText({ user: { username, uid, groups: all } }: { user: User }) {
  const number = uid ?? '–';
  const groups = joinWithCommas(all ?? []);
  return groups === '' ? (
    <Trans>
      The user name is <strong>{username}</strong>, the UID {number}. The one-time password:
    </Trans>
  ) : (
    <Trans>
      The user name is <strong>{username}</strong>, the UID {number}, in {groups}. The one-time
      password:
    </Trans>
  );
}
