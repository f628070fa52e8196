/** Actions on an ended session, on its card and on its page. */
import { Trans } from '@lingui/react/macro';
import { Button, type ButtonProps } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Session } from '@/api/types';
import { toOpenWithState } from '@/features/apps/openWith';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { removeSession, startAgain } from './actions';

interface StartAgainProps extends Pick<ButtonProps, 'variant' | 'px'> {
  session: Session;
}

/** Start it again, and wait on the page that opens it. */
export function StartAgainButton({ session, ...buttonProps }: StartAgainProps) {
  const navigate = useNavigate();
  const [busy, run] = useAction();
  const startAndOpen = async (): Promise<void> => {
    const { name } = await startAgain(session);
    await navigate({
      to: '/start-again/$name',
      params: { name },
      // keep the app to open instead of JupyterLab, if the start page set one in the history state
      state: ({ openWith = null }) => toOpenWithState(openWith),
    });
  };
  return (
    <Button
      {...buttonProps}
      leftSection={<Icon name="again" />}
      loading={busy}
      onClick={() => void run(startAndOpen)}
    >
      <Trans>Start again</Trans>
    </Button>
  );
}

interface RemoveProps {
  id: string;
  onRemoved?: () => Promise<void>;
  children: ReactNode;
}

export function RemoveButton({ id, onRemoved, children }: RemoveProps) {
  const [busy, run] = useAction();
  const remove = async (): Promise<void> => {
    await removeSession(id);
    await onRemoved?.();
  };
  return (
    <Button
      variant="subtle"
      px="xs"
      color="gray"
      leftSection={<Icon name="trash" />}
      loading={busy}
      onClick={() => void run(remove)}
    >
      {children}
    </Button>
  );
}
