import { Trans } from '@lingui/react/macro';
import { Button, Group } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { showError } from './showError';

const UNDO_MS = 15_000;

/** Report what was done, with a button that undoes it. */
export function offerUndo(message: ReactNode, undo: () => Promise<unknown>): void {
  const id = notifications.show({
    autoClose: UNDO_MS,
    role: 'status',
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span>{message}</span>
        <Button
          variant="light"
          size="compact-sm"
          onClick={() => {
            notifications.hide(id);
            void undo().catch(showError);
          }}
        >
          <Trans>Undo</Trans>
        </Button>
      </Group>
    ),
  });
}
