import { Trans } from '@lingui/react/macro';
import { Button, type ButtonProps } from '@mantine/core';
import type { Session } from '@/api/types';
import { Icon } from '@/ui/icons';
import { labUrl } from './words';

interface Props extends Pick<ButtonProps, 'className'> {
  session: Session;
}

/** The way into a session, once it has an address. */
export function OpenLab({ session, ...looks }: Props) {
  if (!session.url) return null;
  return (
    <Button
      {...looks}
      component="a"
      href={labUrl(session) ?? session.url}
      target="_blank"
      rel="noopener"
      leftSection={<Icon name="open" />}
    >
      <Trans>Open JupyterLab</Trans>
    </Button>
  );
}
