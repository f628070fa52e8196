import { t } from '@lingui/core/macro';
import { Button } from '@mantine/core';
import { useState } from 'react';
import type { Session } from '@/api/types';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { stopSession } from './actions';
import { StopDialog } from './StopDialog';

/** Stops at once what hasn't begun; asks first where work could be lost. */
export function StopButton({ session }: { session: Session }) {
  const [asking, setAsking] = useState(false);
  const [busy, act] = useAction();
  const begun = session.state === 'running' || session.state === 'suspended';
  const stop = async (): Promise<void> => {
    await act(() => stopSession(session.id));
    setAsking(false);
  };
  return (
    <>
      <Button
        variant="subtle"
        px="xs"
        color="red"
        c="var(--bad)"
        loading={busy && !asking}
        leftSection={<Icon name="stop" />}
        onClick={() => (begun ? setAsking(true) : void stop())}
      >
        {begun ? t`Stop` : t({ message: 'Cancel', context: 'a session that has not begun' })}
      </Button>
      <StopDialog
        name={session.name}
        opened={asking}
        busy={busy}
        onStop={() => void stop()}
        onClose={() => setAsking(false)}
      />
    </>
  );
}
