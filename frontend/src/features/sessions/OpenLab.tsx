import { Trans } from '@lingui/react/macro';
import { Button, type ButtonProps } from '@mantine/core';
import type { Session } from '@/api/types';
import { Icon } from '@/ui/icons';
import { labUrl } from './labels';

interface Props extends Pick<ButtonProps, 'className'> {
  session: Session;
}

/** The link to a session's JupyterLab, once it has an address. */
export function OpenLab({ session, ...buttonProps }: Props) {
  const url = labUrl(session);
  if (url === null) return null;
  return (
    <Button
      {...buttonProps}
      component="a"
      href={url}
      target="_blank"
      rel="noopener"
      leftSection={<Icon name="open" />}
    >
      <Trans>Open JupyterLab</Trans>
    </Button>
  );
}
