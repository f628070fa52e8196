import { Trans } from '@lingui/react/macro';
import { Button, Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Session } from '@/api/types';
import { environmentsQuery } from '@/features/environments/queries';
import { Icon } from '@/ui/icons';
import classes from './SessionCard.module.css';
import { terminalPlaces } from './terminals';

/** Fit the menu into the viewport, and scroll its items if necessary. */
export const FITTING = { flip: true, shift: true, size: { padding: 8 } } as const;

interface Props {
  session: Session;
  /** the address of its JupyterLab */
  url: string;
}

/** A menu of terminals: on the session's node, or inside any of its environments. */
export function TerminalMenu({ session, url }: Props) {
  return (
    <Menu position="bottom-start" width={300} shadow="md" middlewares={FITTING}>
      <Menu.Target>
        <Button
          variant="default"
          px="sm"
          leftSection={<Icon name="terminal" />}
          rightSection={<Icon name="down" size={14} />}
        >
          <Trans>Terminal</Trans>
        </Button>
      </Menu.Target>
      <Menu.Dropdown className={classes.terminals}>
        <TerminalItems session={session} url={url} />
      </Menu.Dropdown>
    </Menu>
  );
}

/** The items of that menu, also in the menu of the session's card. */
export function TerminalItems({ session, url }: Props) {
  const { data } = useQuery(environmentsQuery);
  return terminalPlaces(url, session, data ?? []).map(({ label, note, href }) => (
    <Menu.Item
      key={href}
      component="a"
      href={href}
      target="_blank"
      rel="noopener"
      rightSection={note && <span className={classes.environment}>{note}</span>}
    >
      {label}
    </Menu.Item>
  ));
}
