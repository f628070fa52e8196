import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Menu, Text, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { logOut } from '@/features/account/logOut';
import { PasswordDialog } from '@/features/account/PasswordDialog';
import { SCHEMES } from '@/features/account/schemes';
import { showDialog } from '@/features/palette/dialogs';
import { ROLE_LABELS } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { Icon } from '@/ui/icons';
import classes from './UserMenu.module.css';

export function UserMenu() {
  const me = useMe();
  const [changing, setChanging] = useState(false);
  return (
    <>
      <Menu position="bottom-end" width={230} shadow="md">
        <Menu.Target>
          <UnstyledButton
            className={classes.button}
            aria-label={t`Account of ${{ name: me.display_name }}`}
          >
            <Icon name="user" />
            <span className={classes.name}>{me.display_name}</span>
            <Icon name="down" size={14} />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            <Text size="sm" fw={600} c="var(--mantine-color-text)">
              {me.display_name}
            </Text>
            {me.username}
            {me.role !== 'user' && ` · ${ROLE_LABELS[me.role]}`}
          </Menu.Label>
          <Menu.Divider />
          <Appearance />
          <Menu.Divider />
          <Menu.Item component={Link} to="/shared">
            <Trans>Shared with you</Trans>
          </Menu.Item>
          <Menu.Item component={Link} to="/account">
            <Trans>Your account</Trans>
          </Menu.Item>
          {me.manages.map((group) => (
            <Menu.Item
              key={group}
              renderRoot={(props) => <Link {...props} to="/groups/$group" params={{ group }} />}
            >
              <Trans>Group {group}</Trans>
            </Menu.Item>
          ))}
          <Menu.Item onClick={() => showDialog('shortcuts')}>
            <Trans>Keyboard shortcuts</Trans>
          </Menu.Item>
          <Menu.Item onClick={() => setChanging(true)}>
            <Trans>Change password…</Trans>
          </Menu.Item>
          <Menu.Item onClick={() => void logOut()}>
            <Trans>Log out</Trans>
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <PasswordDialog opened={changing} onClose={() => setChanging(false)} />
    </>
  );
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Menu.Label>
        <Trans>Appearance</Trans>
      </Menu.Label>
      {SCHEMES.map(({ value, label }) => (
        <Menu.RadioItem
          key={value}
          value={value}
          checked={colorScheme === value}
          onChange={() => setColorScheme(value)}
          checkIcon={<Icon name="check" size={16} />}
        >
          {label}
        </Menu.RadioItem>
      ))}
    </>
  );
}
