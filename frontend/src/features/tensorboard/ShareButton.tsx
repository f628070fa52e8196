import { Trans } from '@lingui/react/macro';
import { Button, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '@/ui/icons';
import { ShareDialog } from './ShareDialog';
import type { Parent } from './sharing';

interface Props {
  parent: Parent;
  /** of the session or job */
  name: string;
  compact?: boolean;
}

/** The button that opens the dialog for sharing a TensorBoard. */
export function ShareButton({ parent, name, compact = false }: Props) {
  const [opened, setOpened] = useState(false);
  const variant = compact
    ? ({ size: 'compact-xs', variant: 'subtle', color: 'gray' } as const)
    : ({ variant: 'default', px: 'sm', leftSection: <Icon name="share" /> } as const);
  return (
    <>
      <Button {...variant} onClick={() => setOpened(true)}>
        <Trans>
          Share<VisuallyHidden component="span"> TensorBoard</VisuallyHidden>
        </Trans>
      </Button>
      <ShareDialog parent={parent} name={name} opened={opened} onClose={() => setOpened(false)} />
    </>
  );
}
