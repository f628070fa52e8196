import { Trans } from '@lingui/react/macro';
import { Button, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '@/ui/icons';
import { ShareDialog } from './ShareDialog';
import type { Parent } from './sharing';

interface Props {
  of: Parent;
  /** of the session or job */
  name: string;
  compact?: boolean;
}

/** Opens the dialog that says who else may look at a TensorBoard. */
export function ShareButton({ of, name, compact = false }: Props) {
  const [opened, setOpened] = useState(false);
  const look = compact
    ? ({ size: 'compact-xs', variant: 'subtle', color: 'gray' } as const)
    : ({ variant: 'default', px: 'sm', leftSection: <Icon name="share" /> } as const);
  return (
    <>
      <Button {...look} onClick={() => setOpened(true)}>
        <Trans>
          Share<VisuallyHidden component="span"> TensorBoard</VisuallyHidden>
        </Trans>
      </Button>
      <ShareDialog of={of} name={name} opened={opened} onClose={() => setOpened(false)} />
    </>
  );
}
