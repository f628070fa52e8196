import { t } from '@lingui/core/macro';
import { Button } from '@mantine/core';
import { useState } from 'react';
import type { Session } from '@/api/types';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { stopSession } from './actions';
import { ConfirmStop } from './ConfirmStop';
import { isRunningOrSuspended } from './labels';

interface Props {
  session: Session;
  /** a second, small button beside a hint; its accessible name includes the session's */
  compact?: boolean;
}

/** Stops a pending session at once; asks first if work could be lost. */
export function StopButton({ session, compact = false }: Props) {
  const [confirming, setConfirming] = useState(false);
  const [busy, run] = useAction();
  const started = isRunningOrSuspended(session);
  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        loading={busy}
        {...(compact
          ? { size: 'compact-sm', 'aria-label': t`Stop ${{ name: session.name }}` }
          : { px: 'xs', leftSection: <Icon name="stop" /> })}
        onClick={() => (started ? setConfirming(true) : void run(() => stopSession(session.id)))}
      >
        {started ? t`Stop` : t({ message: 'Cancel', context: 'a session that has not begun' })}
      </Button>
      <ConfirmStop session={session} opened={confirming} onClose={() => setConfirming(false)} />
    </>
  );
}
