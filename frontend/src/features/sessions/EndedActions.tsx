/** What one can do with a session that has ended, on its card and on its page. */
import { Trans } from '@lingui/react/macro';
import { Button, type ButtonProps } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Session } from '@/api/types';
import { Icon } from '@/ui/icons';
import { removeSession, startAgain } from './actions';
import { useAct } from './useAct';

interface AgainProps extends Pick<ButtonProps, 'variant' | 'px'> {
  session: Session;
  onStarted?: (id: string) => Promise<void>;
}

export function AgainButton({ session, onStarted, ...looks }: AgainProps) {
  const [busy, act] = useAct();
  const again = async (): Promise<void> => {
    const { id } = await startAgain(session);
    await onStarted?.(id);
  };
  return (
    <Button
      {...looks}
      leftSection={<Icon name="again" />}
      loading={busy}
      onClick={() => void act(again)}
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
  const [busy, act] = useAct();
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
      onClick={() => void act(remove)}
    >
      {children}
    </Button>
  );
}
